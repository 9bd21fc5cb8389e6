#pragma once

#include <array>

#include "metal/rt/encoder.h"
#include "metal/rt/pipeline.h"

MLXN_RT_OBJECT(MTL::ComputeCommandEncoder, ComputeEncoderObject)

namespace mlxn::rt {

class ComputeEncoderObject : public EncoderObject {
 public:
  using Api = MTL::ComputeCommandEncoder;
  ComputeEncoderObject(CommandBufferObject* owner, MTL::DispatchType type,
                       std::vector<PassAttachment> attachments)
      : EncoderObject(owner, "MTL::ComputeCommandEncoder", std::move(attachments)),
        dispatchType(type) {}

  void set_pipeline(PipelineObject* pipeline);
  void set_buffer(std::string_view call, BufferObject* target, uint64_t offset, uint64_t index);
  void set_offset(uint64_t offset, uint64_t index);
  void set_bytes(const void* bytes, uint64_t length, uint64_t index);
  void set_threadgroup_memory(uint64_t length, uint64_t index);
  void use_allocation(std::string_view call, AllocationObject* object, const char* kind);
  void memory_barrier(std::string_view call);

  void dispatch_threads(Size3 grid, Size3 group);
  void dispatch_threadgroups(Size3 count, Size3 group);
  void dispatch_indirect(BufferObject* target, uint64_t offset, Size3 group);

  const MTL::DispatchType dispatchType;

 private:
  void on_end() override {
    pipeline_ = nullptr;
    slots_ = {};
  }

  // What is bound at an index: a buffer, or bytes in the list's inline storage.
  struct Slot {
    Ref<BufferObject> buffer;
    uint64_t offset = 0;  // into the buffer or the inline bytes
    uint64_t size = 0;    // of inline bytes; 0 when nothing is bound
    bool bound() const { return buffer || size != 0; }
    uint64_t available() const { return buffer ? buffer->length - offset : size; }
  };

  Status check_index(uint64_t index) const;
  Status check_group(Size3 group) const;
  Status check_buffer(const msl::ArgumentInfo& argument) const;
  Result<uint64_t> check_threadgroup_memory() const;
  // Everything that can be checked before the grid is known.
  Status check_state(Size3 group) const;
  void bind(Dispatch& dispatch, uint32_t index);
  void encode(std::string_view call, Size3 grid, Size3 group, BufferObject* indirect,
              uint64_t indirect_offset);

  Ref<PipelineObject> pipeline_;
  std::array<Slot, MSL_MAX_BUFFERS> slots_;
  std::array<uint64_t, MSL_MAX_THREADGROUP_BUFFERS> threadgroup_bytes_ = {};
};

}  // namespace mlxn::rt
