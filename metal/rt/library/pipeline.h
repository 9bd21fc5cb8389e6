// Compute pipelines, their descriptor and reflection.
#pragma once

#include <array>

#include "metal/rt/library/library.h"
#include "metal/rt/memory/resource.h"

MLXN_RT_OBJECT(MTL::ComputePipelineState, PipelineObject)
MLXN_RT_OBJECT(MTL::ComputePipelineDescriptor, PipelineDescriptorObject)
MLXN_RT_OBJECT(MTL::LinkedFunctions, LinkedFunctionsObject)
MLXN_RT_OBJECT(MTL::ComputePipelineReflection, PipelineReflectionObject)
MLXN_RT_OBJECT(MTL::PipelineBufferDescriptor, PipelineBufferObject)
MLXN_RT_OBJECT(MTL::PipelineBufferDescriptorArray, PipelineBufferArrayObject)

namespace mlxn::rt {

class PipelineBufferObject : public Object {
 public:
  using Api = MTL::PipelineBufferDescriptor;
  MLXN_CLONEABLE(PipelineBufferObject)
  MTL::Mutability mutability = MTL::MutabilityDefault;
};

class PipelineBufferArrayObject : public Object {
 public:
  using Api = MTL::PipelineBufferDescriptorArray;
  MLXN_CLONEABLE(PipelineBufferArrayObject)
  std::array<Ref<PipelineBufferObject>, MSL_MAX_BUFFERS> items;
};

class LinkedFunctionsObject : public Object {
 public:
  using Api = MTL::LinkedFunctions;
  MLXN_CLONEABLE(LinkedFunctionsObject)
  size_t count() const;  // of functions in all lists

  Ref<ArrayObject> functions, binaryFunctions, privateFunctions;
  Ref<DictionaryObject> groups;
};

class PipelineDescriptorObject : public Object {
 public:
  using Api = MTL::ComputePipelineDescriptor;
  PipelineDescriptorObject() : buffers(make<PipelineBufferArrayObject>()) {}
  MLXN_CLONEABLE(PipelineDescriptorObject)

  Label label;
  Ref<FunctionObject> computeFunction;
  Ref<PipelineBufferArrayObject> buffers;
  bool threadGroupSizeIsMultipleOfThreadExecutionWidth = false;
  NS::UInteger maxTotalThreadsPerThreadgroup = 0;  // 0: no limit of its own
  MTL::Size requiredThreadsPerThreadgroup = {0, 0, 0};
  bool supportIndirectCommandBuffers = false;
  MTL::ShaderValidation shaderValidation = MTL::ShaderValidationDefault;
  Ref<LinkedFunctionsObject> linkedFunctions;
};

class PipelineReflectionObject : public Object {
 public:
  using Api = MTL::ComputePipelineReflection;
  Ref<ArrayObject> arguments = make<ArrayObject>();
  Ref<ArrayObject> bindings = make<ArrayObject>();
};

// What a dispatch must find bound for an argument of the kernel; kept apart from the reflection,
// because it is checked at each dispatch.
struct BufferRequirement {
  uint32_t index = 0;
  bool required = false;        // something must be bound
  uint64_t alignment_mask = 0;  // bits of the address that must be 0
  uint64_t least_bytes = 0;
  const msl::ArgumentInfo* argument = nullptr;  // in the kernel
};

// What a pipeline was made from, to make it again.
struct PipelineOrigin {
  std::shared_ptr<const LibraryUnit> library;
  std::string function;
  std::vector<msl::ConstantValue> constants;
  uint64_t max_threads = 0;
  Size3 required = {0, 0, 0};
  bool whole_simdgroups = false;
};

class PipelineObject : public AllocationObject {
 public:
  using Api = MTL::ComputePipelineState;
  uint64_t allocated_size() const override { return 0; }
  const msl::Kernel& kernel() const { return code->kernel; }

  std::shared_ptr<const Pipeline> code;
  Ref<PipelineReflectionObject> reflection;
  NS::UInteger maxTotalThreadsPerThreadgroup = 0;
  Size3 required = {0, 0, 0};
  bool whole_simdgroups = false;           // the threadgroup size must be a multiple of 32
  bool for_indirect = false;               // made for indirect command buffers
  std::vector<BufferRequirement> buffers;  // in the order of the arguments
  uint32_t threadgroup_arguments = 0;      // indices of those that are used, as bits
};

Result<Ref<PipelineObject>> create_pipeline(DeviceObject* device,
                                            const PipelineDescriptorObject& descriptor);

}  // namespace mlxn::rt
