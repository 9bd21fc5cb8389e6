// The original's ways to dispatch: each fills in some fields of a Dispatch.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "mlxn/core/encode/dispatch.h"

namespace mlxn {

class EncodeForms {
 public:
  virtual ~EncodeForms() = default;

  virtual Status dispatch(const Dispatch& dispatch) = 0;

  using BufferBinding = std::pair<uint32_t, const Buffer*>;
  using Buffers = ArrayRef<const Buffer*>;

  // Grid in threads, then grid in threadgroups; buffers bind from their own start.
  Status encode(const Pipeline& pipeline, ArrayRef<BufferBinding> buffers, MTL::Size grid,
                MTL::Size threadgroup);
  Status encode_threadgroups(const Pipeline& pipeline, ArrayRef<BufferBinding> buffers,
                             MTL::Size threadgroups, MTL::Size threadgroup);
  Status encode_threadgroups_with_shared(const Pipeline& pipeline, ArrayRef<BufferBinding> buffers,
                                         ArrayRef<ThreadgroupMemory> memory, MTL::Size threadgroups,
                                         MTL::Size threadgroup);
  Status encode_with_args(const Pipeline& pipeline, ArrayRef<Binding> bindings, MTL::Size grid,
                          MTL::Size threadgroup);
  Status encode_threadgroups_with_args(const Pipeline& pipeline, ArrayRef<Binding> bindings,
                                       MTL::Size threadgroups, MTL::Size threadgroup);
  Status encode_threadgroups_with_args_and_shared(const Pipeline& pipeline,
                                                  ArrayRef<Binding> bindings,
                                                  ArrayRef<ThreadgroupMemory> memory,
                                                  MTL::Size threadgroups, MTL::Size threadgroup);

  // The same with all reads and writes declared.
  Status dispatch_tracked_threadgroups(const Pipeline& pipeline, ArrayRef<BufferBinding> buffers,
                                       Buffers reads, Buffers writes, MTL::Size threadgroups,
                                       MTL::Size threadgroup);
  Status dispatch_tracked_threadgroups_with_shared(const Pipeline& pipeline,
                                                   ArrayRef<BufferBinding> buffers,
                                                   ArrayRef<ThreadgroupMemory> memory,
                                                   Buffers reads, Buffers writes,
                                                   MTL::Size threadgroups, MTL::Size threadgroup);
  Status dispatch_tracked_threadgroups_with_args(const Pipeline& pipeline,
                                                 ArrayRef<Binding> bindings, Buffers reads,
                                                 Buffers writes, MTL::Size threadgroups,
                                                 MTL::Size threadgroup);
  Status dispatch_tracked_threadgroups_with_args_and_shared(
      const Pipeline& pipeline, ArrayRef<Binding> bindings, ArrayRef<ThreadgroupMemory> memory,
      Buffers reads, Buffers writes, MTL::Size threadgroups, MTL::Size threadgroup);
  Status dispatch_tracked_threads_with_args(const Pipeline& pipeline, ArrayRef<Binding> bindings,
                                            Buffers reads, Buffers writes, MTL::Size grid,
                                            MTL::Size threadgroup);

  // Piece by piece: what was set stays for the next dispatch_threads.
  Status set_pipeline(const Pipeline& pipeline);
  Status set_buffer(uint32_t slot, const Buffer& buffer);
  Status dispatch_threads(MTL::Size grid, MTL::Size threadgroup);

 protected:
  EncodeForms() = default;
  EncodeForms(EncodeForms&&) noexcept = default;
  EncodeForms& operator=(EncodeForms&&) noexcept = default;

  virtual Status check_open() const = 0;  // kInvalidState when nothing can be encoded any more

 private:
  Pipeline set_pipeline_;
  std::vector<std::pair<uint32_t, Buffer>> set_buffers_;
};

}  // namespace mlxn
