#pragma once

#include <cstdint>

#include "MTLResource.hpp"
#include "MTLTypes.hpp"

namespace MTL {

class IndirectComputeCommand;

using IndirectCommandType = NS::UInteger;
enum : IndirectCommandType {
  IndirectCommandTypeDraw = 1,
  IndirectCommandTypeDrawIndexed = 1 << 1,
  IndirectCommandTypeDrawPatches = 1 << 2,
  IndirectCommandTypeDrawIndexedPatches = 1 << 3,
  IndirectCommandTypeConcurrentDispatch = 1 << 5,
  IndirectCommandTypeConcurrentDispatchThreads = 1 << 6,
  IndirectCommandTypeDrawMeshThreadgroups = 1 << 7,
  IndirectCommandTypeDrawMeshThreads = 1 << 8,
};

// What an indirect range is in its buffer.
struct IndirectCommandBufferExecutionRange {
  uint32_t location;
  uint32_t length;
} MLXN_METAL_PACKED;

// What is for rendering is not here, and its command types are refused.
class MLXN_METAL_API IndirectCommandBufferDescriptor
    : public NS::Copying<IndirectCommandBufferDescriptor> {
 public:
  static IndirectCommandBufferDescriptor* alloc();
  IndirectCommandBufferDescriptor* init();
  IndirectCommandType commandTypes() const;
  void setCommandTypes(MTL::IndirectCommandType commandTypes);
  bool inheritPipelineState() const;
  void setInheritPipelineState(bool inheritPipelineState);
  bool inheritBuffers() const;
  void setInheritBuffers(bool inheritBuffers);
  NS::UInteger maxKernelBufferBindCount() const;
  void setMaxKernelBufferBindCount(NS::UInteger maxKernelBufferBindCount);
  NS::UInteger maxKernelThreadgroupMemoryBindCount() const;
  void setMaxKernelThreadgroupMemoryBindCount(NS::UInteger maxKernelThreadgroupMemoryBindCount);
};

// Commands that are encoded once and executed many times, by any number of command buffers. Its
// functions and those of its commands are thread-safe.
class MLXN_METAL_API IndirectCommandBuffer
    : public NS::Referencing<IndirectCommandBuffer, Resource> {
 public:
  NS::UInteger size() const;
  ResourceID gpuResourceID() const;
  // Null beyond the size.
  IndirectComputeCommand* indirectComputeCommand(NS::UInteger commandIndex);
  void reset(NS::Range range);
};

}  // namespace MTL
