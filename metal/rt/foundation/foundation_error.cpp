// NS::Error, NS::URL and NS::Data.
#include "metal/rt/foundation/property.h"

namespace NS {

#define MLXN_CONSTANT(Type, name, text) Type const name = detail::constantString(text)
MLXN_CONSTANT(ErrorDomain, CocoaErrorDomain, "NSCocoaErrorDomain");
MLXN_CONSTANT(ErrorDomain, POSIXErrorDomain, "NSPOSIXErrorDomain");
MLXN_CONSTANT(ErrorDomain, OSStatusErrorDomain, "NSOSStatusErrorDomain");
MLXN_CONSTANT(ErrorDomain, MachErrorDomain, "NSMachErrorDomain");
MLXN_CONSTANT(ErrorUserInfoKey, UnderlyingErrorKey, "NSUnderlyingError");
MLXN_CONSTANT(ErrorUserInfoKey, LocalizedDescriptionKey, "NSLocalizedDescription");
MLXN_CONSTANT(ErrorUserInfoKey, LocalizedFailureReasonErrorKey, "NSLocalizedFailureReason");
MLXN_CONSTANT(ErrorUserInfoKey, LocalizedRecoverySuggestionErrorKey,
              "NSLocalizedRecoverySuggestion");
MLXN_CONSTANT(ErrorUserInfoKey, LocalizedRecoveryOptionsErrorKey, "NSLocalizedRecoveryOptions");
MLXN_CONSTANT(ErrorUserInfoKey, RecoveryAttempterErrorKey, "NSRecoveryAttempter");
MLXN_CONSTANT(ErrorUserInfoKey, HelpAnchorErrorKey, "NSHelpAnchor");
MLXN_CONSTANT(ErrorUserInfoKey, DebugDescriptionErrorKey, "NSDebugDescription");
MLXN_CONSTANT(ErrorUserInfoKey, LocalizedFailureErrorKey, "NSLocalizedFailure");
MLXN_CONSTANT(ErrorUserInfoKey, StringEncodingErrorKey, "NSStringEncoding");
MLXN_CONSTANT(ErrorUserInfoKey, URLErrorKey, "NSURL");
MLXN_CONSTANT(ErrorUserInfoKey, FilePathErrorKey, "NSFilePath");
#undef MLXN_CONSTANT

}  // namespace NS

namespace mlxn::rt {

std::string ErrorObject::description() const {
  const std::string text = text_of(api(this)->localizedDescription());
  return "Error Domain=" + (domain ? domain->text : "") + " Code=" + std::to_string(code) + " \"" +
         text + "\"";
}

bool UrlObject::equals(const Object& other) const {
  auto* url = dynamic_cast<const UrlObject*>(&other);
  return url && url->text == text;
}

bool DataObject::equals(const Object& other) const {
  auto* data = dynamic_cast<const DataObject*>(&other);
  return data && data->bytes == bytes;
}

Ref<ErrorObject> make_error(const char* domain, NS::Integer code, std::string message) {
  auto error = make<ErrorObject>();
  error->domain = make_string(domain);
  error->code = code;
  error->user_info = make<DictionaryObject>();
  error->user_info->set(Ref<Object>(impl(NS::LocalizedDescriptionKey)),
                        make_string(std::move(message)));
  return error;
}

void set_error(NS::Error** out, const Ref<ErrorObject>& error) {
  if (out) *out = autoreleased(error);
}

namespace {

// A string, array or other object of the error's userInfo; null when absent or of another type.
template <class T>
typename T::Api* info(const ErrorObject* self, NS::ErrorUserInfoKey key) {
  if (!self || !self->user_info) return nullptr;
  return api(dynamic_cast<T*>(self->user_info->find(*impl(key))));
}

}  // namespace
}  // namespace mlxn::rt

namespace NS {

using namespace mlxn::rt;

MLXN_ALLOC(Error)

Error* Error::init(ErrorDomain domain, Integer code, Dictionary* pDictionary) {
  if (auto* self = impl(this)) {
    self->domain = Ref(impl(domain));
    self->code = code;
    self->user_info = Ref(impl(pDictionary));
  }
  return this;
}

Error* Error::error(ErrorDomain domain, Integer code, Dictionary* pDictionary) {
  return alloc()->init(domain, code, pDictionary)->autorelease();
}

MLXN_GETTER(Error, Integer, code)

ErrorDomain Error::domain() const {
  auto* self = impl(this);
  return self ? api(self->domain.get()) : nullptr;
}

Dictionary* Error::userInfo() const {
  auto* self = impl(this);
  if (!self) return nullptr;
  return self->user_info ? api(self->user_info.get()) : Dictionary::dictionary();
}

String* Error::localizedDescription() const {
  auto* self = impl(this);
  if (!self) return nullptr;
  if (auto* text = info<StringObject>(self, LocalizedDescriptionKey)) return text;
  return autoreleased(make_string("The operation could not be completed (" +
                                  (self->domain ? self->domain->text : "no domain") + " error " +
                                  std::to_string(self->code) + ")"));
}

Array* Error::localizedRecoveryOptions() const {
  return info<ArrayObject>(impl(this), LocalizedRecoveryOptionsErrorKey);
}
String* Error::localizedRecoverySuggestion() const {
  return info<StringObject>(impl(this), LocalizedRecoverySuggestionErrorKey);
}
String* Error::localizedFailureReason() const {
  return info<StringObject>(impl(this), LocalizedFailureReasonErrorKey);
}

MLXN_ALLOC(URL)

URL* URL::init(const String* pString) {
  auto* self = impl(this);
  if (!self) return nullptr;
  self->text = text_of(pString);
  constexpr std::string_view kScheme = "file://";
  if (self->text.starts_with(kScheme)) self->path = self->text.substr(kScheme.size());
  return this;
}

URL* URL::initFileURLWithPath(const String* pPath) {
  if (auto* self = impl(this)) {
    self->path = text_of(pPath);
    self->text = "file://" + self->path;
  }
  return this;
}

URL* URL::fileURLWithPath(const String* pPath) {
  return alloc()->initFileURLWithPath(pPath)->autorelease();
}

const char* URL::fileSystemRepresentation() const {
  auto* self = impl(this);
  return self && !self->path.empty() ? self->path.c_str() : nullptr;
}

void* Data::mutableBytes() const {
  auto* self = impl(this);
  return self ? self->bytes.data() : nullptr;
}

UInteger Data::length() const {
  auto* self = impl(this);
  return self ? self->bytes.size() : 0;
}

}  // namespace NS
