// CompileOptions, FunctionDescriptor, FunctionConstant and FunctionConstantValues.
#include <cstring>

#include "metal/rt/device/validation.h"
#include "metal/rt/library/library.h"
#include "metal/rt/library/reflection.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {

Result<msl::CompileOptions> CompileOptionsObject::to_msl() const {
  msl::CompileOptions options;
  if (libraryType != MTL::LibraryTypeExecutable) {
    return Error(ErrorCode::kUnsupported, "library type Dynamic, expected Executable");
  }
  options.language_version = static_cast<uint32_t>(languageVersion);
  options.math_mode = mathMode == MTL::MathModeFast      ? msl::MathMode::kFast
                      : mathMode == MTL::MathModeRelaxed ? msl::MathMode::kRelaxed
                                                         : msl::MathMode::kSafe;
  options.include_dirs = include_folders;
  if (!preprocessorMacros) return options;
  for (auto& [key, value] : preprocessorMacros->items) {
    auto* name = dynamic_cast<StringObject*>(key.get());
    const bool plain =
        dynamic_cast<StringObject*>(value.get()) || dynamic_cast<NumberObject*>(value.get());
    if (!name || !plain) {
      return Error(ErrorCode::kInvalidArgument,
                   str("preprocessor macro ", key->description(),
                       ", expected an NS::String name with an NS::String or NS::Number value"));
    }
    options.macros.push_back({name->text, value->description()});
  }
  return options;
}

uint64_t constant_size(MTL::DataType type) {
  const uint64_t size = data_type_size(type);
  const bool scalar_or_vector = (type >= MTL::DataTypeFloat && type <= MTL::DataTypeFloat4) ||
                                (type >= MTL::DataTypeHalf && type <= MTL::DataTypeHalf4) ||
                                (type >= MTL::DataTypeInt && type <= MTL::DataTypeBool4) ||
                                (type >= MTL::DataTypeLong && type <= MTL::DataTypeULong4) ||
                                (type >= MTL::DataTypeBFloat && type <= MTL::DataTypeBFloat4);
  return scalar_or_vector && size <= sizeof(msl::ConstantValue::bytes) ? size : 0;
}

void ConstantValuesObject::set(std::string_view call, const void* bytes, MTL::DataType type,
                               std::string name, NS::UInteger index) {
  const uint64_t size = constant_size(type);
  if (!bytes || size == 0 || index > UINT32_MAX) {
    const std::string message =
        report(str("MTL::FunctionConstantValues::", call),
               !bytes      ? std::string("null value, expected a pointer to it")
               : size == 0 ? str("type ", type_name(static_cast<msl::DataType>(type)),
                                 ", expected a scalar or vector of at most 16 bytes")
                           : str("index ", index, " is too large"));
    if (problem.empty()) problem = message;
    return;
  }
  msl::ConstantValue value;
  value.name = std::move(name);
  value.index = static_cast<uint32_t>(index);
  value.type = static_cast<msl::DataType>(type);
  std::memcpy(value.bytes, bytes, size);
  for (auto& old : values) {
    if (old.name == value.name && old.index == value.index) {
      old = value;
      return;
    }
  }
  values.push_back(std::move(value));
}

}  // namespace mlxn::rt

void mlxn::metal::set_include_folders(MTL::CompileOptions* options,
                                      const std::vector<std::string>& folders) {
  if (auto* self = rt::impl(options)) self->include_folders = folders;
}

namespace MTL {

using namespace mlxn::rt;

MLXN_ALLOC(CompileOptions)
MLXN_OBJECT(CompileOptions, NS::Dictionary, preprocessorMacros, setPreprocessorMacros)
MLXN_VALUE(CompileOptions, LanguageVersion, languageVersion, setLanguageVersion)
MLXN_VALUE(CompileOptions, MathMode, mathMode, setMathMode)
MLXN_VALUE(CompileOptions, MathFloatingPointFunctions, mathFloatingPointFunctions,
           setMathFloatingPointFunctions)
MLXN_VALUE(CompileOptions, LibraryOptimizationLevel, optimizationLevel, setOptimizationLevel)
MLXN_VALUE(CompileOptions, LibraryType, libraryType, setLibraryType)
MLXN_VALUE(CompileOptions, bool, preserveInvariance, setPreserveInvariance)
MLXN_VALUE(CompileOptions, bool, enableLogging, setEnableLogging)
MLXN_VALUE(CompileOptions, NS::UInteger, maxTotalThreadsPerThreadgroup,
           setMaxTotalThreadsPerThreadgroup)
MLXN_VALUE(CompileOptions, Size, requiredThreadsPerThreadgroup, setRequiredThreadsPerThreadgroup)

bool CompileOptions::fastMathEnabled() const {
  return mathMode() == MathModeFast;
}
void CompileOptions::setFastMathEnabled(bool fastMathEnabled) {
  setMathMode(fastMathEnabled ? MathModeFast : MathModeSafe);
}

MLXN_ALLOC(FunctionDescriptor)
FunctionDescriptor* FunctionDescriptor::functionDescriptor() {
  return alloc()->init()->autorelease();
}
MLXN_LABEL(FunctionDescriptor, name, setName)
MLXN_LABEL(FunctionDescriptor, specializedName, setSpecializedName)
MLXN_OBJECT(FunctionDescriptor, FunctionConstantValues, constantValues, setConstantValues)
MLXN_VALUE(FunctionDescriptor, FunctionOptions, options, setOptions)

MLXN_ALLOC(FunctionConstant)
MLXN_LABEL_GETTER(FunctionConstant, name)
MLXN_GETTER(FunctionConstant, DataType, type)
MLXN_GETTER(FunctionConstant, NS::UInteger, index)
MLXN_GETTER(FunctionConstant, bool, required)

MLXN_ALLOC(FunctionReflection)
MLXN_OBJECT_GETTER(FunctionReflection, NS::Array, bindings)

MLXN_ALLOC(FunctionConstantValues)

void FunctionConstantValues::setConstantValue(const void* value, DataType type,
                                              NS::UInteger index) {
  if (auto* self = impl(this)) self->set("setConstantValue", value, type, "", index);
}

void FunctionConstantValues::setConstantValue(const void* value, DataType type,
                                              const NS::String* name) {
  if (auto* self = impl(this)) self->set("setConstantValue", value, type, text_of(name), 0);
}

void FunctionConstantValues::setConstantValues(const void* values, DataType type, NS::Range range) {
  auto* self = impl(this);
  const uint64_t size = constant_size(type);
  for (NS::UInteger i = 0; self && i < range.length; ++i) {
    const auto* bytes = static_cast<const char*>(values);
    self->set("setConstantValues", bytes ? bytes + i * size : nullptr, type, "",
              range.location + i);
    if (!self->problem.empty()) return;
  }
}

void FunctionConstantValues::reset() {
  if (auto* self = impl(this)) {
    self->values.clear();
    self->problem.clear();
  }
}

}  // namespace MTL
