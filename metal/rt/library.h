// Libraries, functions and function constants.
#pragma once

#include <memory>
#include <mutex>

#include "metal/msl/kernel_abi.h"
#include "metal/rt/device.h"
#include "metal/rt/property.h"

MLXN_RT_OBJECT(MTL::Library, LibraryObject)
MLXN_RT_OBJECT(MTL::CompileOptions, CompileOptionsObject)
MLXN_RT_OBJECT(MTL::Function, FunctionObject)
MLXN_RT_OBJECT(MTL::FunctionDescriptor, FunctionDescriptorObject)
MLXN_RT_OBJECT(MTL::FunctionConstant, FunctionConstantObject)
MLXN_RT_OBJECT(MTL::FunctionConstantValues, ConstantValuesObject)
MLXN_RT_OBJECT(MTL::FunctionReflection, FunctionReflectionObject)

namespace mlxn::rt {

class CompileOptionsObject : public Object {
 public:
  using Api = MTL::CompileOptions;
  MLXN_CLONEABLE(CompileOptionsObject)
  Result<msl::CompileOptions> to_msl() const;

  Ref<DictionaryObject> preprocessorMacros;
  MTL::LanguageVersion languageVersion = MTL::LanguageVersion3_2;
  MTL::MathMode mathMode = MTL::MathModeSafe;
  MTL::MathFloatingPointFunctions mathFloatingPointFunctions = MTL::MathFloatingPointFunctionsFast;
  MTL::LibraryOptimizationLevel optimizationLevel = MTL::LibraryOptimizationLevelDefault;
  MTL::LibraryType libraryType = MTL::LibraryTypeExecutable;
  bool preserveInvariance = false;
  NS::UInteger maxTotalThreadsPerThreadgroup = 0;
  MTL::Size requiredThreadsPerThreadgroup = {0, 0, 0};
  std::vector<std::string> include_folders;
};

class FunctionConstantObject : public Object {
 public:
  using Api = MTL::FunctionConstant;
  Label name;
  MTL::DataType type = MTL::DataTypeNone;
  NS::UInteger index = 0;
  bool required = false;
};

// Values in the order set; one for each name or index.
class ConstantValuesObject : public Object {
 public:
  using Api = MTL::FunctionConstantValues;
  MLXN_CLONEABLE(ConstantValuesObject)
  void set(std::string_view call, const void* bytes, MTL::DataType type, std::string name,
           NS::UInteger index);

  std::vector<msl::ConstantValue> values;
  std::string problem;  // the first wrong call; makes newFunction fail
};

// Bytes of a constant of this type; 0 when function constants cannot have it.
uint64_t constant_size(MTL::DataType type);
std::string type_name(msl::DataType type);

class FunctionDescriptorObject : public Object {
 public:
  using Api = MTL::FunctionDescriptor;
  MLXN_CLONEABLE(FunctionDescriptorObject)
  Label name, specializedName;
  Ref<ConstantValuesObject> constantValues;
  MTL::FunctionOptions options = MTL::FunctionOptionNone;
};

class FunctionReflectionObject : public Object {
 public:
  using Api = MTL::FunctionReflection;
  Ref<ArrayObject> bindings = make<ArrayObject>();
};

// What a library is made from.
struct LibraryText {
  std::string source;
  msl::CompileOptions options;
};

// A library: source and options, and what the compiler says about them. The compiler itself is
// asked only when no cache can answer. Thread-safe.
class LibraryObject : public Object {
 public:
  using Api = MTL::Library;
  static Result<Ref<LibraryObject>> create(DeviceObject* device, std::string source,
                                           const msl::CompileOptions& options);

  const msl::FunctionInfo* find(std::string_view name) const;
  Result<Ref<FunctionObject>> function(const std::string& name, const ConstantValuesObject* values);
  // Machine code of one function with its constants, for threadgroups of the given shape.
  Result<std::shared_ptr<const msl::Image>> compile(
      const std::string& name, const std::vector<msl::ConstantValue>& constants,
      const msl::Shape& shape = {});

  Ref<DeviceObject> device;
  Label label;
  std::shared_ptr<const LibraryText> text;
  std::shared_ptr<const msl::LibraryInfo> info;
  NS::UInteger max_threads = 0;  // of CompileOptions; 0: none
  MTL::Size required_threads = {0, 0, 0};

 private:
  Result<const msl::Library*> compiled();
  Result<std::vector<msl::ConstantValue>> known_values(const ConstantValuesObject& values) const;

  CacheKey key_;
  std::mutex mutex_;
  std::unique_ptr<msl::Library> compiled_;
};

class FunctionObject : public Object {
 public:
  using Api = MTL::Function;
  std::string description() const override { return name->text; }

  Ref<LibraryObject> library;
  Ref<StringObject> name;
  Label label;
  MTL::FunctionOptions options = MTL::FunctionOptionNone;
  std::vector<msl::ConstantValue> constants;
  const msl::FunctionInfo* info = nullptr;  // in the library
};

// The library container: what mlxn::metal::serialize_library writes.
std::vector<uint8_t> serialize(const LibraryText& library);
bool is_library_container(std::string_view bytes);
Result<Ref<LibraryObject>> parse_library(DeviceObject* device, std::string_view bytes);

Ref<ErrorObject> library_error(std::string_view call, const Error& error);

}  // namespace mlxn::rt
