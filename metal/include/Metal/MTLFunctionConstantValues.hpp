#pragma once

#include "MTLDataType.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class MLXN_METAL_API FunctionConstantValues : public NS::Copying<FunctionConstantValues> {
 public:
  static FunctionConstantValues* alloc();
  FunctionConstantValues* init();

  // The value's bytes are copied. A later value for the same index or name replaces the earlier.
  void setConstantValue(const void* value, MTL::DataType type, NS::UInteger index);
  void setConstantValue(const void* value, MTL::DataType type, const NS::String* name);
  void setConstantValues(const void* values, MTL::DataType type, NS::Range range);
  void reset();
};

}  // namespace MTL
