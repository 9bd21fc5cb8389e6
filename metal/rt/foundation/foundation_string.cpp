// NS::String.
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "metal/rt/foundation/property.h"
#include "metal/rt/foundation/unicode.h"

namespace mlxn::rt {

bool StringObject::equals(const Object& other) const {
  auto* string = dynamic_cast<const StringObject*>(&other);
  return string && string->text == text;
}

}  // namespace mlxn::rt

namespace NS {

using namespace mlxn::rt;

String* detail::constantString(const char* pText) {
  static auto& mutex = *new std::mutex;
  static auto& strings = *new std::map<std::string, StringObject*, std::less<>>;
  std::lock_guard lock(mutex);
  auto found = strings.find(std::string_view(pText));
  if (found == strings.end()) found = strings.emplace(pText, new StringObject(pText)).first;
  found->second->retain();  // callers may release it as often as they like to
  return api(found->second);
}

String* String::string() {
  return autoreleased(make_string(""));
}

String* String::string(const String* pString) {
  return pString ? autoreleased(make_string(impl(pString)->text)) : nullptr;
}

String* String::string(const char* pString, StringEncoding encoding) {
  if (!pString) return nullptr;
  auto text = decode(pString, encoding);
  return text ? autoreleased(make_string(std::move(*text))) : nullptr;
}

MLXN_ALLOC(String)

// Finishes an init that may fail: a failed one gives the new object back.
static String* initialize(String* string, std::optional<std::string> text) {
  auto* self = impl(string);
  if (!self) return nullptr;
  if (!text) {
    self->release();
    return nullptr;
  }
  self->text = std::move(*text);
  return string;
}

String* String::init(const String* pString) {
  return initialize(this, pString ? std::optional(impl(pString)->text) : std::nullopt);
}

String* String::init(const char* pString, StringEncoding encoding) {
  return initialize(this, pString ? decode(pString, encoding) : std::nullopt);
}

String* String::init(void* pBytes, UInteger len, StringEncoding encoding, bool freeBuffer) {
  auto* bytes = static_cast<const char*>(pBytes);
  auto text = bytes ? decode(std::string_view(bytes, len), encoding) : std::nullopt;
  if (freeBuffer) std::free(pBytes);
  return initialize(this, std::move(text));
}

unichar String::character(UInteger index) const {
  auto* self = impl(this);
  if (!self) return 0;
  const auto units = to_utf16(self->text);
  return index < units.size() ? units[index] : 0;
}

UInteger String::length() const {
  auto* self = impl(this);
  return self ? to_utf16(self->text).size() : 0;
}

const char* String::utf8String() const {
  auto* self = impl(this);
  return self ? self->text.c_str() : nullptr;
}

const char* String::cString(StringEncoding encoding) const {
  auto* self = impl(this);
  if (!self) return nullptr;
  auto bytes = encode(self->text, encoding);
  if (!bytes) return nullptr;
  if (*bytes == self->text) return self->text.c_str();
  bytes->append(4, '\0');  // ends units of every width
  auto copy = make<StringObject>(std::move(*bytes));
  const char* result = copy->text.c_str();
  autoreleased(std::move(copy));
  return result;
}

UInteger String::maximumLengthOfBytes(StringEncoding encoding) const {
  switch (encoding) {
    case ASCIIStringEncoding:
    case ISOLatin1StringEncoding: return length();
    case UTF8StringEncoding: return length() * 3;
    case UTF32StringEncoding:
    case UTF32BigEndianStringEncoding:
    case UTF32LittleEndianStringEncoding: return length() * 4;
    default: return length() * 2;
  }
}

UInteger String::lengthOfBytes(StringEncoding encoding) const {
  auto* self = impl(this);
  auto bytes = self ? encode(self->text, encoding) : std::nullopt;
  return bytes ? bytes->size() : 0;
}

bool String::isEqualToString(const String* pString) const {
  auto *self = impl(this), *other = impl(pString);
  return self && other && self->text == other->text;
}

// Lower case for ASCII letters; other letters compare as they are.
static std::u16string folded(const std::string& text) {
  auto units = to_utf16(text);
  for (auto& unit : units) {
    if (unit >= 'A' && unit <= 'Z') unit += 'a' - 'A';
  }
  return units;
}

Range String::rangeOfString(const String* pString, StringCompareOptions options) const {
  auto *self = impl(this), *other = impl(pString);
  const Range none(static_cast<UInteger>(NotFound), 0);
  if (!self || !other || other->text.empty()) return none;
  const bool fold = options & CaseInsensitiveSearch;
  const auto text = fold ? folded(self->text) : to_utf16(self->text);
  const auto part = fold ? folded(other->text) : to_utf16(other->text);
  const bool backwards = options & BackwardsSearch;
  if (part.size() > text.size()) return none;
  if (options & AnchoredSearch) {
    const size_t at = backwards ? text.size() - part.size() : 0;
    return text.compare(at, part.size(), part) == 0 ? Range(at, part.size()) : none;
  }
  const size_t at = backwards ? text.rfind(part) : text.find(part);
  return at == std::u16string::npos ? none : Range(at, part.size());
}

const char* String::fileSystemRepresentation() const {
  return utf8String();
}

String* String::stringByAppendingString(const String* pString) const {
  auto* self = impl(this);
  return self ? autoreleased(make_string(self->text + text_of(pString))) : nullptr;
}

ComparisonResult String::caseInsensitiveCompare(const String* pString) const {
  const int order = folded(text_of(this)).compare(folded(text_of(pString)));
  return order < 0 ? OrderedAscending : order > 0 ? OrderedDescending : OrderedSame;
}

}  // namespace NS
