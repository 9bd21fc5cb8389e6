#pragma once

#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class CommandBuffer;
class CommandBufferDescriptor;
class Device;
class ResidencySet;

class MLXN_METAL_API CommandQueueDescriptor : public NS::Copying<CommandQueueDescriptor> {
 public:
  static CommandQueueDescriptor* alloc();
  CommandQueueDescriptor* init();

  NS::UInteger maxCommandBufferCount() const;
  void setMaxCommandBufferCount(NS::UInteger maxCommandBufferCount);
};

// Runs committed command buffers in the order of enqueue(), which commit() implies. Thread-safe.
class MLXN_METAL_API CommandQueue : public NS::Referencing<CommandQueue> {
 public:
  Device* device() const;
  NS::String* label() const;
  void setLabel(const NS::String* label);

  // Block while maxCommandBufferCount buffers of this queue exist that have not completed.
  CommandBuffer* commandBuffer();
  CommandBuffer* commandBuffer(const MTL::CommandBufferDescriptor* descriptor);
  CommandBuffer* commandBufferWithUnretainedReferences();

  void insertDebugCaptureBoundary();

  void addResidencySet(const MTL::ResidencySet* residencySet);
  void addResidencySets(const MTL::ResidencySet* const residencySets[], NS::UInteger count);
  void removeResidencySet(const MTL::ResidencySet* residencySet);
  void removeResidencySets(const MTL::ResidencySet* const residencySets[], NS::UInteger count);
};

}  // namespace MTL
