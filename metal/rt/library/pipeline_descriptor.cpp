// The public face of pipeline descriptors.
#include "metal/rt/device/validation.h"
#include "metal/rt/library/pipeline.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {

size_t LinkedFunctionsObject::count() const {
  size_t count = groups ? groups->items.size() : 0;
  for (const auto& list : {functions, binaryFunctions, privateFunctions}) {
    if (list) count += list->items.size();
  }
  return count;
}

}  // namespace mlxn::rt

namespace MTL {

using namespace mlxn::rt;

MLXN_ALLOC(PipelineBufferDescriptor)
MLXN_VALUE(PipelineBufferDescriptor, Mutability, mutability, setMutability)

MLXN_ALLOC(PipelineBufferDescriptorArray)

PipelineBufferDescriptor* PipelineBufferDescriptorArray::object(NS::UInteger bufferIndex) {
  auto* self = impl(this);
  if (!self) return nullptr;
  if (bufferIndex >= self->items.size()) {
    report("MTL::PipelineBufferDescriptorArray::object",
           mlxn::str("index ", bufferIndex, ", expected less than ", self->items.size()));
    return nullptr;
  }
  auto& item = self->items[bufferIndex];
  if (!item) item = make<PipelineBufferObject>();
  return api(item.get());
}

void PipelineBufferDescriptorArray::setObject(const PipelineBufferDescriptor* buffer,
                                              NS::UInteger bufferIndex) {
  if (auto* target = object(bufferIndex)) {
    target->setMutability(buffer ? buffer->mutability() : MutabilityDefault);
  }
}

MLXN_ALLOC(LinkedFunctions)
MLXN_OBJECT(LinkedFunctions, NS::Array, functions, setFunctions)
MLXN_OBJECT(LinkedFunctions, NS::Array, binaryFunctions, setBinaryFunctions)
MLXN_OBJECT(LinkedFunctions, NS::Array, privateFunctions, setPrivateFunctions)
MLXN_OBJECT(LinkedFunctions, NS::Dictionary, groups, setGroups)

LinkedFunctions* LinkedFunctions::linkedFunctions() {
  return alloc()->init()->autorelease();
}

MLXN_ALLOC(ComputePipelineDescriptor)
MLXN_LABEL(ComputePipelineDescriptor, label, setLabel)
MLXN_OBJECT(ComputePipelineDescriptor, Function, computeFunction, setComputeFunction)
MLXN_OBJECT_GETTER(ComputePipelineDescriptor, PipelineBufferDescriptorArray, buffers)
MLXN_VALUE(ComputePipelineDescriptor, bool, threadGroupSizeIsMultipleOfThreadExecutionWidth,
           setThreadGroupSizeIsMultipleOfThreadExecutionWidth)
MLXN_VALUE(ComputePipelineDescriptor, NS::UInteger, maxTotalThreadsPerThreadgroup,
           setMaxTotalThreadsPerThreadgroup)
MLXN_VALUE(ComputePipelineDescriptor, Size, requiredThreadsPerThreadgroup,
           setRequiredThreadsPerThreadgroup)
MLXN_VALUE(ComputePipelineDescriptor, bool, supportIndirectCommandBuffers,
           setSupportIndirectCommandBuffers)
MLXN_VALUE(ComputePipelineDescriptor, ShaderValidation, shaderValidation, setShaderValidation)

void ComputePipelineDescriptor::reset() {
  if (auto* self = impl(this)) *self = *make<PipelineDescriptorObject>();
}
MLXN_OBJECT(ComputePipelineDescriptor, LinkedFunctions, linkedFunctions, setLinkedFunctions)

}  // namespace MTL
