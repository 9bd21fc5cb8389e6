#pragma once

#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class FunctionConstantValues;

using FunctionOptions = NS::UInteger;
enum : FunctionOptions {
  FunctionOptionNone = 0,
  FunctionOptionCompileToBinary = 1,
  FunctionOptionStoreFunctionInMetalPipelinesScript = 1 << 1,
  FunctionOptionStoreFunctionInMetalScript = 1 << 1,
  FunctionOptionFailOnBinaryArchiveMiss = 1 << 2,
  FunctionOptionPipelineIndependent = 1 << 3,
};

class MLXN_METAL_API FunctionDescriptor : public NS::Copying<FunctionDescriptor> {
 public:
  static FunctionDescriptor* functionDescriptor();
  static FunctionDescriptor* alloc();
  FunctionDescriptor* init();

  NS::String* name() const;
  void setName(const NS::String* name);
  NS::String* specializedName() const;
  void setSpecializedName(const NS::String* specializedName);
  FunctionConstantValues* constantValues() const;
  void setConstantValues(const MTL::FunctionConstantValues* constantValues);
  FunctionOptions options() const;
  void setOptions(MTL::FunctionOptions options);
};

}  // namespace MTL
