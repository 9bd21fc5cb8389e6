#pragma once

#include "MTLAllocation.hpp"
#include "MTLPipeline.hpp"
#include "MTLTypes.hpp"

namespace MTL {

class Device;
class Function;
class LinkedFunctions;

class MLXN_METAL_API ComputePipelineReflection : public NS::Referencing<ComputePipelineReflection> {
 public:
  static ComputePipelineReflection* alloc();
  ComputePipelineReflection* init();
  NS::Array* arguments() const;  // MTL::Argument
  NS::Array* bindings() const;   // MTL::Binding
};

class MLXN_METAL_API ComputePipelineDescriptor : public NS::Copying<ComputePipelineDescriptor> {
 public:
  static ComputePipelineDescriptor* alloc();
  ComputePipelineDescriptor* init();
  void reset();

  NS::String* label() const;
  void setLabel(const NS::String* label);
  Function* computeFunction() const;
  void setComputeFunction(const MTL::Function* computeFunction);
  PipelineBufferDescriptorArray* buffers() const;
  bool threadGroupSizeIsMultipleOfThreadExecutionWidth() const;
  void setThreadGroupSizeIsMultipleOfThreadExecutionWidth(bool isMultiple);
  NS::UInteger maxTotalThreadsPerThreadgroup() const;
  void setMaxTotalThreadsPerThreadgroup(NS::UInteger maxTotalThreadsPerThreadgroup);
  Size requiredThreadsPerThreadgroup() const;
  void setRequiredThreadsPerThreadgroup(MTL::Size requiredThreadsPerThreadgroup);
  bool supportIndirectCommandBuffers() const;
  void setSupportIndirectCommandBuffers(bool supportIndirectCommandBuffers);
  ShaderValidation shaderValidation() const;
  void setShaderValidation(MTL::ShaderValidation shaderValidation);
  LinkedFunctions* linkedFunctions() const;
  void setLinkedFunctions(const MTL::LinkedFunctions* linkedFunctions);
};

class MLXN_METAL_API ComputePipelineState
    : public NS::Referencing<ComputePipelineState, Allocation> {
 public:
  Device* device() const;
  NS::String* label() const;
  NS::UInteger maxTotalThreadsPerThreadgroup() const;
  NS::UInteger threadExecutionWidth() const;
  NS::UInteger staticThreadgroupMemoryLength() const;
  Size requiredThreadsPerThreadgroup() const;
  bool supportIndirectCommandBuffers() const;
  ShaderValidation shaderValidation() const;
  ResourceID gpuResourceID() const;
  ComputePipelineReflection* reflection() const;
};

}  // namespace MTL
