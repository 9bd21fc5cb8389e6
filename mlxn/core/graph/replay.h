#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "mlxn/core/device/device.h"
#include "mlxn/core/graph/captured_node.h"

namespace mlxn {

class PlanFrame;
class PlanFrames;

// A list of recorded dispatches made ready to be encoded many times: checked once, with barriers
// derived from the accesses once, and with only those bindings that change from one dispatch to the
// next. It keeps what it uses, so recycled memory cannot change under it. Encode it with
// ComputeEncoder::replay; from the second time on it is an indirect command buffer.
class ReplayPlan {
 public:
  // Nodes are checked as dispatches are; the error tells which one is wrong.
  static Result<std::shared_ptr<ReplayPlan>> create(const Device& device,
                                                    std::vector<CapturedNode> nodes);

  size_t dispatch_count() const { return steps_.size(); }
  size_t barrier_count() const { return barriers_; }  // that a replay emits

  // Patch point: other inline bytes of the same size for the n-th dispatch, from the next replay
  // on; what was encoded before keeps its own. Not while another thread encodes the plan.
  Status set_bytes(size_t dispatch, uint32_t slot, std::span<const std::byte> bytes);

 private:
  friend class ComputeEncoder;

  struct Set {
    uint32_t slot;
    MTL::Buffer* buffer;  // null: inline bytes
    uint64_t offset;      // in the buffer, or in bytes_
    uint64_t size;        // of inline bytes
  };
  struct Step {
    MTL::ComputePipelineState* pipeline;  // null: as before
    uint32_t first_set, set_count, first_memory, memory_count;
    MTL::Size grid, threadgroup;
    bool threads;
    const char* barrier;  // reason of the barrier in front; null: none
    uint32_t node;
  };

  ReplayPlan() = default;

  // What to execute, for a submission to keep; null: the state changes are to be encoded.
  std::shared_ptr<const PlanFrame> lease(const Device& device) const;

  std::vector<CapturedNode> nodes_;  // dispatches only; hold everything alive
  std::vector<Step> steps_;
  std::vector<Set> sets_;
  std::vector<ThreadgroupMemory> memory_;
  std::vector<std::byte> bytes_;
  std::vector<BufferRange> tail_;                   // accesses behind the last barrier
  std::vector<std::shared_ptr<Storage>> storages_;  // each once
  size_t barriers_ = 0;
  bool ends_with_barrier_ = false;  // a recorded one, for what comes behind the plan
  uint64_t context_id_ = 0;
  uint64_t patches_ = 0;  // made so far
  mutable std::atomic<bool> replayed_ = false;
  mutable std::once_flag frames_made_;
  mutable std::shared_ptr<PlanFrames> frames_;  // of nodes_, from the second replay on
};

}  // namespace mlxn
