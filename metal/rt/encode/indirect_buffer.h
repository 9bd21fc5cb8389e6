// MTL::IndirectCommandBuffer, its descriptor and its commands.
#pragma once

#include "metal/rt/encode/indirect_commands.h"

MLXN_RT_OBJECT(MTL::IndirectCommandBufferDescriptor, IndirectDescriptorObject)
MLXN_RT_OBJECT(MTL::IndirectCommandBuffer, IndirectBufferObject)
MLXN_RT_OBJECT(MTL::IndirectComputeCommand, IndirectCommandObject)

namespace mlxn::rt {

class IndirectDescriptorObject : public Object {
 public:
  using Api = MTL::IndirectCommandBufferDescriptor;
  MLXN_CLONEABLE(IndirectDescriptorObject)
  MTL::IndirectCommandType commandTypes = 0;
  bool inheritPipelineState = false, inheritBuffers = false;
  NS::UInteger maxKernelBufferBindCount = 0, maxKernelThreadgroupMemoryBindCount = 0;
};

class IndirectBufferObject : public ResourceObject {
 public:
  using Api = MTL::IndirectCommandBuffer;
  uint64_t allocated_size() const override { return commands->size() * sizeof(IndirectCommand); }

  std::shared_ptr<IndirectCommands> commands;
};

class IndirectCommandObject : public Object {
 public:
  using Api = MTL::IndirectComputeCommand;
  IndirectCommandObject(IndirectBufferObject* owner, uint64_t index)
      : owner_(owner), commands_(*owner->commands), index_(index) {}

  void set_pipeline(PipelineObject* pipeline);
  void set_buffer(BufferObject* buffer, uint64_t offset, uint64_t index);
  void set_threadgroup_memory(uint64_t length, uint64_t index);
  void dispatch(const char* call, IndirectCommand::Kind kind, const Size3& size,
                const Size3& group);
  void set_barrier(bool barrier);
  void reset() { commands_.reset(index_, 1); }

 private:
  const Ref<IndirectBufferObject> owner_;
  IndirectCommands& commands_;
  const uint64_t index_;
};

}  // namespace mlxn::rt
