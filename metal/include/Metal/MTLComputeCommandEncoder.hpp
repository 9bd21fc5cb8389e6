#pragma once

#include <cstdint>

#include "MTLCommandBuffer.hpp"
#include "MTLCommandEncoder.hpp"
#include "MTLTypes.hpp"

namespace MTL {

class Buffer;
class ComputePipelineState;
class CounterSampleBuffer;
class Fence;
class Heap;
class IndirectCommandBuffer;
class Resource;

struct DispatchThreadgroupsIndirectArguments {
  uint32_t threadgroupsPerGrid[3];
} MLXN_METAL_PACKED;

class MLXN_METAL_API ComputeCommandEncoder
    : public NS::Referencing<ComputeCommandEncoder, CommandEncoder> {
 public:
  DispatchType dispatchType() const;
  void setComputePipelineState(const MTL::ComputePipelineState* state);

  // Buffer indices are 0 to 30; setBytes takes at most 4 KiB.
  void setBuffer(const MTL::Buffer* buffer, NS::UInteger offset, NS::UInteger index);
  void setBufferOffset(NS::UInteger offset, NS::UInteger index);
  void setBuffers(const MTL::Buffer* const buffers[], const NS::UInteger offsets[],
                  NS::Range range);
  void setBytes(const void* bytes, NS::UInteger length, NS::UInteger index);
  void setThreadgroupMemoryLength(NS::UInteger length, NS::UInteger index);

  void dispatchThreads(MTL::Size threadsPerGrid, MTL::Size threadsPerThreadgroup);
  void dispatchThreadgroups(MTL::Size threadgroupsPerGrid, MTL::Size threadsPerThreadgroup);
  void dispatchThreadgroups(const MTL::Buffer* indirectBuffer, NS::UInteger indirectBufferOffset,
                            MTL::Size threadsPerThreadgroup);

  // Commands of an indirect command buffer, as they are when the command buffer runs; the second
  // form takes an IndirectCommandBufferExecutionRange from a buffer. For the encoder it is one
  // dispatch; inherited state is what is set now.
  void executeCommandsInBuffer(const MTL::IndirectCommandBuffer* indirectCommandBuffer,
                               NS::Range executionRange);
  void executeCommandsInBuffer(const MTL::IndirectCommandBuffer* indirectCommandbuffer,
                               const MTL::Buffer* indirectRangeBuffer,
                               NS::UInteger indirectBufferOffset);

  // Dispatches of a serial encoder run one after the other; those of a concurrent one are ordered
  // by these calls only.
  void memoryBarrier(MTL::BarrierScope scope);
  void memoryBarrier(const MTL::Resource* const resources[], NS::UInteger count);
  void updateFence(const MTL::Fence* fence);
  void waitForFence(const MTL::Fence* fence);

  void useResource(const MTL::Resource* resource, MTL::ResourceUsage usage);
  void useResources(const MTL::Resource* const resources[], NS::UInteger count,
                    MTL::ResourceUsage usage);
  void useHeap(const MTL::Heap* heap);
  void useHeaps(const MTL::Heap* const heaps[], NS::UInteger count);

  void sampleCountersInBuffer(const MTL::CounterSampleBuffer* sampleBuffer,
                              NS::UInteger sampleIndex, bool barrier);
};

}  // namespace MTL
