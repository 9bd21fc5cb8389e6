#pragma once

#include <cstdint>

#include "MTLCommandEncoder.hpp"

namespace MTL {

class Buffer;
class CounterSampleBuffer;
class Fence;
class IndirectCommandBuffer;
class Resource;

class MLXN_METAL_API BlitCommandEncoder
    : public NS::Referencing<BlitCommandEncoder, CommandEncoder> {
 public:
  void copyFromBuffer(const MTL::Buffer* sourceBuffer, NS::UInteger sourceOffset,
                      const MTL::Buffer* destinationBuffer, NS::UInteger destinationOffset,
                      NS::UInteger size);
  void fillBuffer(const MTL::Buffer* buffer, NS::Range range, uint8_t value);
  void synchronizeResource(const MTL::Resource* resource);
  void resolveCounters(const MTL::CounterSampleBuffer* sampleBuffer, NS::Range range,
                       const MTL::Buffer* destinationBuffer, NS::UInteger destinationOffset);
  void sampleCountersInBuffer(const MTL::CounterSampleBuffer* sampleBuffer,
                              NS::UInteger sampleIndex, bool barrier);
  void resetCommandsInBuffer(const MTL::IndirectCommandBuffer* buffer, NS::Range range);
  void copyIndirectCommandBuffer(const MTL::IndirectCommandBuffer* source, NS::Range sourceRange,
                                 const MTL::IndirectCommandBuffer* destination,
                                 NS::UInteger destinationIndex);
  // A hint: commands are made ready when they are executed first in any case.
  void optimizeIndirectCommandBuffer(const MTL::IndirectCommandBuffer* indirectCommandBuffer,
                                     NS::Range range);
  void updateFence(const MTL::Fence* fence);
  void waitForFence(const MTL::Fence* fence);
};

}  // namespace MTL
