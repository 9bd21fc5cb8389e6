#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mlxn/core/encode/dispatch.h"

namespace mlxn {

// What a slot holds: a part of an allocation, which stays alive and is not recycled while it is
// recorded, or a copy of inline bytes.
struct RecordedBinding {
  uint32_t slot = 0;
  std::shared_ptr<Storage> storage;  // null: bytes
  uint64_t offset = 0, length = 0;   // in the allocation
  std::vector<std::byte> bytes;
};

// A dispatch taken down instead of being encoded, or a barrier between two of them.
struct CapturedNode {
  bool is_barrier = false;
  Pipeline pipeline;
  std::vector<RecordedBinding> bindings;
  MTL::Size grid = {0, 0, 0}, threadgroup = {0, 0, 0};
  std::vector<ThreadgroupMemory> threadgroup_memory;
  DispatchKind kind = DispatchKind::kThreadgroups;
  OpTag op;
  // Every access. `annotated` is false when they are not known; then they are "everything", which
  // nothing can pass.
  std::vector<BufferRange> accesses;
  bool annotated = false;
  std::string label;

  std::vector<BufferRange> reads() const;
  std::vector<BufferRange> writes() const;
  const RecordedBinding* binding(uint32_t slot) const;
};

}  // namespace mlxn
