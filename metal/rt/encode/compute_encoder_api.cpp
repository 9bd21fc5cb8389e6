// The public face of MTL::ComputeCommandEncoder.
#include "metal/rt/encode/compute_encoder.h"
#include "mlxn/base/strings.h"

namespace MTL {

using namespace mlxn::rt;

static Size3 to_size3(Size size) {
  return {size.width, size.height, size.depth};
}

MLXN_GETTER(ComputeCommandEncoder, DispatchType, dispatchType)

void ComputeCommandEncoder::setComputePipelineState(const ComputePipelineState* state) {
  if (auto* self = impl(this)) self->set_pipeline(impl(state));
}

void ComputeCommandEncoder::setBuffer(const Buffer* buffer, NS::UInteger offset,
                                      NS::UInteger index) {
  if (auto* self = impl(this)) self->set_buffer("setBuffer", impl(buffer), offset, index);
}

void ComputeCommandEncoder::setBufferOffset(NS::UInteger offset, NS::UInteger index) {
  if (auto* self = impl(this)) self->set_offset(offset, index);
}

void ComputeCommandEncoder::setBuffers(const Buffer* const buffers[], const NS::UInteger offsets[],
                                       NS::Range range) {
  auto* self = impl(this);
  if (!self) return;
  if (range.location >= MSL_MAX_BUFFERS || range.length > MSL_MAX_BUFFERS - range.location) {
    self->misuse("setBuffers", mlxn::str("index range ", range.location, " + ", range.length,
                                         ", expected to end within ", MSL_MAX_BUFFERS));
    if (range.location >= MSL_MAX_BUFFERS) return;
    range.length = MSL_MAX_BUFFERS - range.location;
  }
  if (!buffers || !offsets) return self->violation("setBuffers", "null array, expected two");
  for (NS::UInteger i = 0; i < range.length; ++i) {
    self->set_buffer("setBuffers", impl(buffers[i]), offsets[i], range.location + i);
  }
}

void ComputeCommandEncoder::setBytes(const void* bytes, NS::UInteger length, NS::UInteger index) {
  if (auto* self = impl(this)) self->set_bytes(bytes, length, index);
}

void ComputeCommandEncoder::setThreadgroupMemoryLength(NS::UInteger length, NS::UInteger index) {
  if (auto* self = impl(this)) self->set_threadgroup_memory(length, index);
}

void ComputeCommandEncoder::dispatchThreads(Size threadsPerGrid, Size threadsPerThreadgroup) {
  if (auto* self = impl(this)) {
    self->dispatch_threads(to_size3(threadsPerGrid), to_size3(threadsPerThreadgroup));
  }
}

void ComputeCommandEncoder::dispatchThreadgroups(Size threadgroupsPerGrid,
                                                 Size threadsPerThreadgroup) {
  if (auto* self = impl(this)) {
    self->dispatch_threadgroups(to_size3(threadgroupsPerGrid), to_size3(threadsPerThreadgroup));
  }
}

void ComputeCommandEncoder::dispatchThreadgroups(const Buffer* indirectBuffer,
                                                 NS::UInteger indirectBufferOffset,
                                                 Size threadsPerThreadgroup) {
  if (auto* self = impl(this)) {
    self->dispatch_indirect(impl(indirectBuffer), indirectBufferOffset,
                            to_size3(threadsPerThreadgroup));
  }
}

void ComputeCommandEncoder::executeCommandsInBuffer(
    const IndirectCommandBuffer* indirectCommandBuffer, NS::Range executionRange) {
  if (auto* self = impl(this)) self->execute(impl(indirectCommandBuffer), executionRange);
}

void ComputeCommandEncoder::executeCommandsInBuffer(
    const IndirectCommandBuffer* indirectCommandbuffer, const Buffer* indirectRangeBuffer,
    NS::UInteger indirectBufferOffset) {
  if (auto* self = impl(this)) {
    self->execute(impl(indirectCommandbuffer), impl(indirectRangeBuffer), indirectBufferOffset);
  }
}

void ComputeCommandEncoder::memoryBarrier(BarrierScope scope) {
  auto* self = impl(this);
  if (!self) return;
  if (scope == 0 || scope > (BarrierScopeBuffers | BarrierScopeTextures)) {
    self->misuse("memoryBarrier",
                 mlxn::str("scope ", scope, ", expected Buffers (1) or Textures (2)"));
  }
  self->memory_barrier("memoryBarrier");
}

void ComputeCommandEncoder::memoryBarrier(const Resource* const resources[], NS::UInteger count) {
  auto* self = impl(this);
  if (!self) return;
  for (NS::UInteger i = 0; i < count; ++i) {
    if (!resources || !resources[i]) {
      self->misuse("memoryBarrier", mlxn::str("resource ", i, " of ", count, " is null"));
    }
  }
  self->memory_barrier("memoryBarrier");
}

void ComputeCommandEncoder::updateFence(const Fence* fence) {
  if (auto* self = impl(this)) self->fence("updateFence", impl(fence));
}

void ComputeCommandEncoder::waitForFence(const Fence* fence) {
  if (auto* self = impl(this)) self->fence("waitForFence", impl(fence));
}

void ComputeCommandEncoder::useResource(const Resource* resource, ResourceUsage usage) {
  useResources(&resource, 1, usage);
}

void ComputeCommandEncoder::useResources(const Resource* const resources[], NS::UInteger count,
                                         ResourceUsage) {
  auto* self = impl(this);
  for (NS::UInteger i = 0; self && i < count; ++i) {
    self->use_allocation("useResource", resources ? impl(resources[i]) : nullptr, "resource");
  }
}

void ComputeCommandEncoder::useHeap(const Heap* heap) {
  useHeaps(&heap, 1);
}

void ComputeCommandEncoder::useHeaps(const Heap* const heaps[], NS::UInteger count) {
  auto* self = impl(this);
  for (NS::UInteger i = 0; self && i < count; ++i) {
    self->use_allocation("useHeap", heaps ? impl(heaps[i]) : nullptr, "heap");
  }
}

void ComputeCommandEncoder::sampleCountersInBuffer(const CounterSampleBuffer* sampleBuffer,
                                                   NS::UInteger sampleIndex, bool barrier) {
  if (auto* self = impl(this)) {
    self->sample("sampleCountersInBuffer", impl(sampleBuffer), sampleIndex, barrier);
  }
}

}  // namespace MTL
