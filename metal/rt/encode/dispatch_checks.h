// What is wrong with a dispatch, for encoders and indirect command buffers. `strict`: the device
// validates; without it only what would be unsafe or cannot run is wrong.
#pragma once

#include <span>

#include "metal/rt/library/pipeline.h"

namespace mlxn::rt {

// What is bound at an index: a buffer, or bytes in the list's inline storage. All that a dispatch
// needs to know is copied, since a buffer that is not retained may go.
struct BufferSlot {
  Memory* memory = nullptr;  // null: inline bytes
  uint64_t base = 0;         // of the buffer in its memory, or of the bytes in the list
  uint64_t offset = 0;       // in the buffer
  uint64_t length = 0;       // of the whole; 0 when nothing is bound
  size_t watch = 0;          // from Work::hold

  bool bound() const { return memory || length != 0; }
  uint64_t start() const { return base + offset; }
  uint64_t available() const { return length - offset; }
  // Also behind the buffer, in memory that is there.
  uint64_t reachable() const { return memory->size + memory->padding - start(); }
  Binding binding(uint32_t index) const { return {index, memory, start(), available()}; }
};

enum class SlotProblem { kNone, kUnbound, kMisaligned, kTooShort };
SlotProblem check_slot(const BufferSlot& slot, const BufferRequirement& requirement, bool strict);
Error explain(SlotProblem problem, const BufferSlot& slot, const msl::ArgumentInfo& argument);

Status check_group(const PipelineObject& pipeline, const Size3& group, bool strict);
Status check_grid(const Size3& grid);
// Of groups that check_group has seen.
Status check_counts(const Size3& count, const Size3& group);
// `bytes` of each index, at most `most` together with the kernel's own.
Status check_threadgroup_memory(const PipelineObject& pipeline, std::span<const uint64_t> bytes,
                                uint64_t most, bool strict);
// Metal does nothing then, and says so only where it validates.
bool is_no_work(const Size3& grid, const Size3& group, bool strict);

// Lengths of threadgroup memory.
inline constexpr uint64_t kThreadgroupGranule = 16;
uint64_t aligned(uint64_t size, uint64_t alignment);

}  // namespace mlxn::rt
