// Libraries, functions and function constants.
#pragma once

#include <memory>
#include <unordered_map>

#include "metal/msl/kernel_abi.h"
#include "metal/rt/foundation/property.h"
#include "metal/rt/library/library_unit.h"

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
  bool enableLogging = false;
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

// A library: one unit for each source it was made from. Thread-safe.
class LibraryObject : public Object {
 public:
  using Api = MTL::Library;
  static Result<Ref<LibraryObject>> create(DeviceObject* device, std::string source,
                                           const msl::CompileOptions& options);
  // From the bytes of a library file.
  static Result<Ref<LibraryObject>> open(DeviceObject* device, std::string file);

  struct Entry {
    const msl::FunctionInfo* info;  // in the unit
    LibraryUnit* unit;
  };
  const Entry* find(std::string_view name) const;
  std::shared_ptr<LibraryUnit> unit_of(std::string_view name) const;
  Result<Ref<FunctionObject>> function(const std::string& name, const ConstantValuesObject* values);
  // Code of one function with its constants, as the device usually wants it: for reflection.
  Result<std::shared_ptr<const msl::Image>> compile(
      const std::string& name, const std::vector<msl::ConstantValue>& constants);
  // As a library file.
  std::vector<uint8_t> serialize() const;

  Ref<DeviceObject> device;
  Label label;
  std::vector<Entry> functions;  // in order of appearance
  NS::UInteger max_threads = 0;  // of CompileOptions; 0: none
  MTL::Size required_threads = {0, 0, 0};

 private:
  void add(std::shared_ptr<LibraryUnit> unit);
  static Result<std::vector<msl::ConstantValue>> known_values(const LibraryUnit& unit,
                                                              const ConstantValuesObject& values);

  std::vector<std::shared_ptr<LibraryUnit>> units_;
  std::unordered_map<std::string_view, size_t> by_name_;  // in `functions`
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

Ref<ErrorObject> library_error(std::string_view call, const Error& error);

}  // namespace mlxn::rt
