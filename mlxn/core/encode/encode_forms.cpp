#include "mlxn/core/encode/encode_forms.h"

#include <array>

#include "mlxn/base/strings.h"

namespace mlxn {
namespace {

// (slot, buffer) pairs as bindings, without touching the heap. One more than Metal has slots is
// wrong already, so the rest can be left out.
struct Bindings {
  explicit Bindings(ArrayRef<EncodeForms::BufferBinding> buffers) {
    for (const auto& [slot, buffer] : buffers) {
      if (count == storage.size()) break;
      new (&storage[count++]) Binding{slot, KernelArg(buffer)};
    }
  }
  ArrayRef<Binding> list() const {
    return {reinterpret_cast<const Binding*>(storage.data()), count};
  }

  struct alignas(Binding) Room {
    std::byte bytes[sizeof(Binding)];
  };
  static_assert(std::is_trivially_destructible_v<Binding>);
  std::array<Room, kMaxBufferSlots + 1> storage;
  size_t count = 0;
};

}  // namespace

Status EncodeForms::encode(const Pipeline& pipeline, ArrayRef<BufferBinding> buffers,
                           MTL::Size grid, MTL::Size threadgroup) {
  const Bindings bindings(buffers);
  return encode_with_args(pipeline, bindings.list(), grid, threadgroup);
}

Status EncodeForms::encode_threadgroups(const Pipeline& pipeline, ArrayRef<BufferBinding> buffers,
                                        MTL::Size threadgroups, MTL::Size threadgroup) {
  return encode_threadgroups_with_shared(pipeline, buffers, {}, threadgroups, threadgroup);
}

Status EncodeForms::encode_threadgroups_with_shared(const Pipeline& pipeline,
                                                    ArrayRef<BufferBinding> buffers,
                                                    ArrayRef<ThreadgroupMemory> memory,
                                                    MTL::Size threadgroups, MTL::Size threadgroup) {
  const Bindings bindings(buffers);
  return encode_threadgroups_with_args_and_shared(pipeline, bindings.list(), memory, threadgroups,
                                                  threadgroup);
}

Status EncodeForms::encode_with_args(const Pipeline& pipeline, ArrayRef<Binding> bindings,
                                     MTL::Size grid, MTL::Size threadgroup) {
  return dispatch({.pipeline = pipeline,
                   .bindings = bindings,
                   .grid = grid,
                   .threadgroup = threadgroup,
                   .kind = DispatchKind::kThreads});
}

Status EncodeForms::encode_threadgroups_with_args(const Pipeline& pipeline,
                                                  ArrayRef<Binding> bindings,
                                                  MTL::Size threadgroups, MTL::Size threadgroup) {
  return encode_threadgroups_with_args_and_shared(pipeline, bindings, {}, threadgroups,
                                                  threadgroup);
}

Status EncodeForms::encode_threadgroups_with_args_and_shared(const Pipeline& pipeline,
                                                             ArrayRef<Binding> bindings,
                                                             ArrayRef<ThreadgroupMemory> memory,
                                                             MTL::Size threadgroups,
                                                             MTL::Size threadgroup) {
  return dispatch({.pipeline = pipeline,
                   .bindings = bindings,
                   .grid = threadgroups,
                   .threadgroup = threadgroup,
                   .threadgroup_memory = memory});
}

Status EncodeForms::dispatch_tracked_threadgroups(const Pipeline& pipeline,
                                                  ArrayRef<BufferBinding> buffers, Buffers reads,
                                                  Buffers writes, MTL::Size threadgroups,
                                                  MTL::Size threadgroup) {
  return dispatch_tracked_threadgroups_with_shared(pipeline, buffers, {}, reads, writes,
                                                   threadgroups, threadgroup);
}

Status EncodeForms::dispatch_tracked_threadgroups_with_shared(
    const Pipeline& pipeline, ArrayRef<BufferBinding> buffers, ArrayRef<ThreadgroupMemory> memory,
    Buffers reads, Buffers writes, MTL::Size threadgroups, MTL::Size threadgroup) {
  const Bindings bindings(buffers);
  return dispatch_tracked_threadgroups_with_args_and_shared(
      pipeline, bindings.list(), memory, reads, writes, threadgroups, threadgroup);
}

Status EncodeForms::dispatch_tracked_threadgroups_with_args(const Pipeline& pipeline,
                                                            ArrayRef<Binding> bindings,
                                                            Buffers reads, Buffers writes,
                                                            MTL::Size threadgroups,
                                                            MTL::Size threadgroup) {
  return dispatch_tracked_threadgroups_with_args_and_shared(pipeline, bindings, {}, reads, writes,
                                                            threadgroups, threadgroup);
}

Status EncodeForms::dispatch_tracked_threadgroups_with_args_and_shared(
    const Pipeline& pipeline, ArrayRef<Binding> bindings, ArrayRef<ThreadgroupMemory> memory,
    Buffers reads, Buffers writes, MTL::Size threadgroups, MTL::Size threadgroup) {
  return dispatch({.pipeline = pipeline,
                   .bindings = bindings,
                   .grid = threadgroups,
                   .threadgroup = threadgroup,
                   .threadgroup_memory = memory,
                   .declared = true,
                   .reads = reads,
                   .writes = writes});
}

Status EncodeForms::dispatch_tracked_threads_with_args(const Pipeline& pipeline,
                                                       ArrayRef<Binding> bindings, Buffers reads,
                                                       Buffers writes, MTL::Size grid,
                                                       MTL::Size threadgroup) {
  return dispatch({.pipeline = pipeline,
                   .bindings = bindings,
                   .grid = grid,
                   .threadgroup = threadgroup,
                   .kind = DispatchKind::kThreads,
                   .declared = true,
                   .reads = reads,
                   .writes = writes});
}

Status EncodeForms::set_pipeline(const Pipeline& pipeline) {
  MLXN_TRY(check_open());
  if (!pipeline) return Error(ErrorCode::kInvalidArgument, "set_pipeline: no pipeline");
  set_pipeline_ = pipeline;
  return {};
}

Status EncodeForms::set_buffer(uint32_t slot, const Buffer& buffer) {
  MLXN_TRY(check_open());
  if (slot >= kMaxBufferSlots) {
    return Error(ErrorCode::kOutOfRange,
                 str("set_buffer: slot ", slot, ", expected less than ", kMaxBufferSlots));
  }
  for (auto& [other, old] : set_buffers_) {
    if (other == slot) return old = buffer, Status();
  }
  set_buffers_.emplace_back(slot, buffer);
  return {};
}

Status EncodeForms::dispatch_threads(MTL::Size grid, MTL::Size threadgroup) {
  std::vector<BufferBinding> buffers;
  for (const auto& [slot, buffer] : set_buffers_) buffers.emplace_back(slot, &buffer);
  return encode(set_pipeline_, buffers, grid, threadgroup);
}

}  // namespace mlxn
