#pragma once

#include <array>
#include <optional>

#include "metal/rt/encode/dispatch_checks.h"
#include "metal/rt/encode/encoder.h"
#include "metal/rt/encode/indirect_buffer.h"

MLXN_RT_OBJECT(MTL::ComputeCommandEncoder, ComputeEncoderObject)

namespace mlxn::rt {

class ComputeEncoderObject : public EncoderObject {
 public:
  using Api = MTL::ComputeCommandEncoder;
  ComputeEncoderObject(CommandBufferObject* owner, MTL::DispatchType type,
                       std::vector<PassAttachment> attachments)
      : EncoderObject(owner, "MTL::ComputeCommandEncoder", std::move(attachments)),
        dispatchType(type),
        compiles_(owner->device().info().compiles) {}

  void set_pipeline(PipelineObject* pipeline) {
    constexpr const char* kCall = "setComputePipelineState";
    if (!can_encode(kCall)) return;
    if (pipeline && pipeline == pipeline_.get()) return;
    if (check_object(kCall, pipeline, "pipeline state")) change_pipeline(pipeline);
  }
  void set_buffer(std::string_view call, BufferObject* target, uint64_t offset, uint64_t index) {
    if (!can_encode(call)) return;
    if (index >= MSL_MAX_BUFFERS) return wrong_index(call, index);
    if (!target) {
      slots_[index] = BufferSlot();  // null unbinds
      return;
    }
    if (!check_object(call, target, "buffer")) return;
    if (offset > target->length) return wrong_offset(call, offset, index, target->length);
    const size_t watch = work().hold(target, {.index = static_cast<uint32_t>(index)});
    slots_[index] = {target->memory.get(), target->offset, offset, target->length, watch};
  }
  void set_offset(uint64_t offset, uint64_t index);
  void set_bytes(const void* bytes, uint64_t length, uint64_t index);
  void set_threadgroup_memory(uint64_t length, uint64_t index);
  void use_allocation(std::string_view call, AllocationObject* object, const char* kind);
  void memory_barrier(std::string_view call);

  void dispatch_threads(const Size3& grid, const Size3& group);
  void dispatch_threadgroups(const Size3& count, const Size3& group);
  void dispatch_indirect(BufferObject* target, uint64_t offset, const Size3& group);

  void execute(IndirectBufferObject* commands, NS::Range range);
  void execute(IndirectBufferObject* commands, BufferObject* range, uint64_t offset);

  const MTL::DispatchType dispatchType;

 private:
  void on_end() override { pipeline_ = nullptr; }

  void wrong_index(std::string_view call, uint64_t index);
  void wrong_offset(std::string_view call, uint64_t offset, uint64_t index, uint64_t length);
  void wrong_dispatch(std::string_view call, const Error& error);
  // Whether a check succeeded; reports it if not.
  bool accept(std::string_view call, const Status& status);
  void change_pipeline(PipelineObject* pipeline);
  bool ready_to_dispatch(std::string_view call);  // a pipeline is set and commands are taken
  bool is_no_work(const Size3& grid, const Size3& group) const {
    return rt::is_no_work(grid, group, validates());
  }
  // Whether the group fits the pipeline; reports it if not. Asked again only after a change.
  bool accepts(std::string_view call, const Size3& group);
  bool bind_buffers(std::string_view call);
  // Copies `length` bytes into the list, followed by zeros up to `size`.
  BufferSlot store_bytes(const void* bytes, uint64_t length, uint64_t size);
  void bind(uint32_t index);
  void bind_argument(const BufferRequirement& requirement);
  void add_threadgroup_memory();
  // Lets the executor see to the code for the dispatch; reports it if there is none.
  bool prepare_code(std::string_view call, const Size3& grid, const Size3& group);
  void encode(std::string_view call, const Size3& grid, const Size3& group, BufferObject* indirect,
              uint64_t indirect_offset);
  // Whether the buffer can be executed now; reports it if not.
  bool check_indirect(const IndirectBufferObject* commands);
  // Reports a buffer of the commands that was released.
  void check_alive(const PreparedList& prepared);
  void encode(IndirectBufferObject* commands, Execute execute);

  const bool compiles_;
  Ref<PipelineObject> pipeline_;
  bool pipeline_held_ = false;  // by the work
  std::optional<Size3> accepted_group_;
  bool threadgroup_memory_accepted_ = false;
  uint32_t threadgroup_indices_ = 0;  // bit n: threadgroup_bytes_[n] is not 0
  std::array<BufferSlot, MSL_MAX_BUFFERS> slots_;
  std::array<uint64_t, MSL_MAX_THREADGROUP_BUFFERS> threadgroup_bytes_ = {};
};

}  // namespace mlxn::rt
