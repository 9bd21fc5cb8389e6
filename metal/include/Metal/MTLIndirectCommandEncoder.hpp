#pragma once

#include "MTLTypes.hpp"

namespace MTL {

class Buffer;
class ComputePipelineState;

// One place of an indirect command buffer, which it keeps alive. A place without a dispatch is
// skipped when it is executed. What a command is to use must stay alive, as in Metal.
class MLXN_METAL_API IndirectComputeCommand : public NS::Referencing<IndirectComputeCommand> {
 public:
  void setComputePipelineState(const MTL::ComputePipelineState* pipelineState);
  void setKernelBuffer(const MTL::Buffer* buffer, NS::UInteger offset, NS::UInteger index);
  void setThreadgroupMemoryLength(NS::UInteger length, NS::UInteger index);

  void concurrentDispatchThreadgroups(MTL::Size threadgroupsPerGrid,
                                      MTL::Size threadsPerThreadgroup);
  void concurrentDispatchThreads(MTL::Size threadsPerGrid, MTL::Size threadsPerThreadgroup);

  // The command starts when those in front of it are finished; without it they run at once.
  void setBarrier();
  void clearBarrier();
  void reset();

  // For kernels with stage-in or imageblocks, which there are none of: no effect.
  void setStageInRegion(MTL::Region region);
  void setImageblockWidth(NS::UInteger width, NS::UInteger height);
};

}  // namespace MTL
