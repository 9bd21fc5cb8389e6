// The public face of MTL::Library, Function and the library functions of Device.
#include "metal/rt/device/validation.h"
#include "metal/rt/foundation/dispatch_data.h"
#include "metal/rt/library/library.h"
#include "metal/rt/library/pipeline.h"
#include "metal/rt/library/reflection.h"
#include "mlxn/base/read_file.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

Result<Ref<LibraryObject>> library_from_file(DeviceObject* device, const std::string& path) {
  MLXN_ASSIGN(std::string bytes, read_file(path));
  if (msl::is_library_file(bytes)) return LibraryObject::open(device, std::move(bytes));
  const bool source = path.ends_with(".metal") || path.ends_with(".msl");
  if (!source) {
    return Error(
        ErrorCode::kUnsupported,
        str("'", path,
            "' is neither MSL text (.metal) nor a library made by mlxn (its tools metal and "
            "metallib, or mlxn::metal::serialize_library)"));
  }
  msl::CompileOptions options;
  options.source_name = path;
  return LibraryObject::create(device, std::move(bytes), options);
}

Result<Ref<LibraryObject>> library_from_data(DeviceObject* device, dispatch_data_t data) {
  MLXN_ASSIGN(std::string bytes, bytes_of(data));
  return LibraryObject::open(device, std::move(bytes));
}

Result<Ref<LibraryObject>> library_from_source(DeviceObject* device, const NS::String* source,
                                               const CompileOptionsObject* options) {
  if (!source) return Error(ErrorCode::kInvalidArgument, "null source, expected MSL text");
  if (!options) return LibraryObject::create(device, impl(source)->text, {});
  MLXN_ASSIGN(auto msl_options, options->to_msl());
  MLXN_ASSIGN(auto library, LibraryObject::create(device, impl(source)->text, msl_options));
  library->max_threads = options->maxTotalThreadsPerThreadgroup;
  library->required_threads = options->requiredThreadsPerThreadgroup;
  return library;
}

template <class T>
typename T::Api* finish(const char* call, Result<Ref<T>> object, NS::Error** error) {
  if (object) return owned(std::move(*object));
  set_error(error, library_error(call, object.error()));
  return nullptr;
}

Result<Ref<FunctionObject>> function_from(LibraryObject* library,
                                          const FunctionDescriptorObject* descriptor) {
  if (!descriptor || descriptor->name.text().empty()) {
    return Error(ErrorCode::kInvalidArgument, "no function name in the descriptor");
  }
  // Without values a function is made unspecialised, as by newFunction(name).
  MLXN_ASSIGN(auto function,
              library->function(descriptor->name.text(), descriptor->constantValues.get()));
  if (auto special = descriptor->specializedName.get()) function->name = special;
  function->options = descriptor->options;
  return function;
}

// Runs a creation on the compile worker and hands the result to the handler.
template <class T, class Handler, class Create>
void create_later(const char* call, const Handler& handler, const Create& create) {
  compile_worker().post([call, handler, create] {
    PoolScope pool;
    Result<Ref<T>> object = create();
    if (!handler) return;
    if (object) return handler(autoreleased(std::move(*object)), nullptr);
    handler(nullptr, autoreleased(library_error(call, object.error())));
  });
}

}  // namespace
}  // namespace mlxn::rt

namespace MTL {

using namespace mlxn::rt;

MLXN_LABEL(Library, label, setLabel)
MLXN_OBJECT_GETTER(Library, Device, device)
LibraryType Library::type() const {
  return LibraryTypeExecutable;
}
NS::String* Library::installName() const {
  return nullptr;
}

NS::Array* Library::functionNames() const {
  auto* self = impl(this);
  if (!self) return nullptr;
  std::vector<Ref<StringObject>> names;
  for (const auto& function : self->functions) names.push_back(make_string(function.info->name));
  return autoreleased(make_array(names));
}

FunctionReflection* Library::reflectionForFunction(const NS::String* functionName) {
  auto* self = impl(this);
  if (!self) return nullptr;
  auto image = self->compile(text_of(functionName), {});
  if (!image) {
    report("MTL::Library::reflectionForFunction", image.error().message());
    return nullptr;
  }
  auto reflection = make<FunctionReflectionObject>();
  for (const auto& kernel : (*image)->kernels) reflection->bindings = make_bindings(kernel);
  return autoreleased(std::move(reflection));
}

Function* Library::newFunction(const NS::String* functionName) {
  auto* self = impl(this);
  if (!self) return nullptr;
  auto function = self->function(text_of(functionName), nullptr);
  return function ? owned(std::move(*function)) : nullptr;
}

Function* Library::newFunction(const NS::String* name, const FunctionConstantValues* constantValues,
                               NS::Error** error) {
  auto* self = impl(this);
  if (!self) return nullptr;
  return finish("MTL::Library::newFunction", self->function(text_of(name), impl(constantValues)),
                error);
}

Function* Library::newFunction(const FunctionDescriptor* descriptor, NS::Error** error) {
  auto* self = impl(this);
  if (!self) return nullptr;
  return finish("MTL::Library::newFunction", function_from(self, impl(descriptor)), error);
}

void Library::newFunction(const NS::String* name, const FunctionConstantValues* constantValues,
                          const FunctionCompletionHandlerFunction& completionHandler) {
  auto* self = impl(this);
  if (!self) return;
  auto values = constantValues ? make<ConstantValuesObject>(*impl(constantValues)) : nullptr;
  create_later<FunctionObject>("MTL::Library::newFunction", completionHandler,
                               [self = Ref(self), name = text_of(name), values] {
                                 return self->function(name, values.get());
                               });
}

void Library::newFunction(const FunctionDescriptor* descriptor,
                          const FunctionCompletionHandlerFunction& completionHandler) {
  auto* self = impl(this);
  if (!self) return;
  auto copy = descriptor ? make<FunctionDescriptorObject>(*impl(descriptor)) : nullptr;
  create_later<FunctionObject>(
      "MTL::Library::newFunction", completionHandler,
      [self = Ref(self), copy] { return function_from(self.get(), copy.get()); });
}

MLXN_LABEL(Function, label, setLabel)
MLXN_OBJECT_GETTER(Function, NS::String, name)
MLXN_GETTER(Function, FunctionOptions, options)
FunctionType Function::functionType() const {
  return FunctionTypeKernel;
}

Device* Function::device() const {
  auto* self = impl(this);
  return self ? api(self->library->device.get()) : nullptr;
}

NS::Dictionary* Function::functionConstantsDictionary() const {
  auto* self = impl(this);
  if (!self) return nullptr;
  auto map = make<DictionaryObject>();
  for (const mlxn::msl::FunctionConstant& constant : self->info->constants) {
    auto object = make<FunctionConstantObject>();
    object->name.set(make_string(constant.name));
    object->type = static_cast<DataType>(constant.type);
    object->index = constant.index;
    object->required = constant.required;
    map->set(make_string(constant.name), object);
  }
  return autoreleased(std::move(map));
}

// There is no application bundle and so no default library.
Library* Device::newDefaultLibrary() {
  return nullptr;
}

Library* Device::newLibrary(const NS::String* filepath, NS::Error** error) {
  auto* self = impl(this);
  if (!self) return nullptr;
  return finish("MTL::Device::newLibrary", library_from_file(self, text_of(filepath)), error);
}

Library* Device::newLibrary(const NS::URL* url, NS::Error** error) {
  auto* self = impl(this);
  if (!self) return nullptr;
  const char* path = url ? url->fileSystemRepresentation() : nullptr;
  return finish("MTL::Device::newLibrary", library_from_file(self, path ? path : ""), error);
}

Library* Device::newLibrary(dispatch_data_t data, NS::Error** error) {
  auto* self = impl(this);
  if (!self) return nullptr;
  return finish("MTL::Device::newLibrary", library_from_data(self, data), error);
}

Library* Device::newLibrary(const NS::String* source, const CompileOptions* options,
                            NS::Error** error) {
  auto* self = impl(this);
  if (!self) return nullptr;
  return finish("MTL::Device::newLibrary", library_from_source(self, source, impl(options)), error);
}

void Device::newLibrary(const NS::String* source, const CompileOptions* options,
                        const NewLibraryCompletionHandlerFunction& completionHandler) {
  auto* self = impl(this);
  if (!self) return;
  auto copy = options ? make<CompileOptionsObject>(*impl(options)) : nullptr;
  create_later<LibraryObject>("MTL::Device::newLibrary", completionHandler,
                              [self = Ref(self), source = Ref(impl(source)), copy] {
                                return library_from_source(self.get(), api(source.get()),
                                                           copy.get());
                              });
}

}  // namespace MTL

namespace mlxn::metal {

NS::Data* serialize_library(const MTL::Library* library) {
  auto* self = rt::impl(library);
  if (!self) return nullptr;
  const std::vector<uint8_t> bytes = self->serialize();
  return rt::autoreleased(rt::make<rt::DataObject>(bytes.data(), bytes.size()));
}

MTL::Library* new_library(MTL::Device* device, const void* bytes, std::size_t size,
                          NS::Error** error) {
  if (!device || !bytes) return nullptr;
  std::string copy(static_cast<const char*>(bytes), size);
  return rt::finish("mlxn::metal::new_library",
                    rt::LibraryObject::open(rt::impl(device), std::move(copy)), error);
}

}  // namespace mlxn::metal
