#include "mlxn/core/graph/replay.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "mlxn/base/strings.h"
#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/encode/internal/dispatch_checks.h"
#include "mlxn/core/encode/internal/recorded_dispatch.h"
#include "mlxn/core/encode/internal/submission.h"
#include "mlxn/core/graph/internal/plan_frames.h"
#include "mlxn/core/memory/internal/storage.h"

namespace mlxn {
namespace {

constexpr const char* kRecordedBarrier = "explicit";

// What the pass holds after the dispatches so far; nothing is known at the start.
struct PassState {
  const Pipeline::State* pipeline = nullptr;
  std::array<std::pair<const Storage*, uint64_t>, kMaxBufferSlots> slots = {};
  std::array<uint64_t, kMaxBufferSlots> memory = {};
};

struct Barriers {
  std::vector<const char*> in_front;  // of each dispatch: the reason, or null
  std::vector<BufferRange> tail;      // accesses behind the last one
  bool at_end = false;
};

// Where barriers are needed: from accesses, and where one was recorded.
Barriers derive_barriers(const std::vector<CapturedNode>& nodes, HazardMask hazards) {
  Barriers out;
  MemRanges ranges(hazards);
  bool recorded = false;
  for (const CapturedNode& node : nodes) {
    if (node.is_barrier) {
      recorded = !out.in_front.empty();  // in front of everything it orders nothing
      continue;
    }
    const char* reason = recorded ? kRecordedBarrier : nullptr;
    if (!reason && !ranges.check(node.accesses)) reason = to_string(ranges.last_hazard()->hazard);
    if (reason) {
      ranges.reset();
      out.tail.clear();
    }
    ranges.add(node.accesses);
    out.tail.insert(out.tail.end(), node.accesses.begin(), node.accesses.end());
    out.in_front.push_back(reason);
    recorded = false;
  }
  if (recorded) out.tail.clear();
  out.at_end = recorded;
  return out;
}

// Nodes may have been made by hand: a plan is checked once, and then never.
Status check_nodes(const Context& context, const std::vector<CapturedNode>& nodes) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].is_barrier) continue;
    auto recorded = RecordedDispatch::of(nodes[i]);
    Status status = recorded ? check_dispatch(context, recorded->dispatch()) : recorded.error();
    if (!status) return std::move(status.error().add_context(str("node ", i)));
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<ReplayPlan>> ReplayPlan::create(const Device& device,
                                                       std::vector<CapturedNode> nodes) {
  std::shared_ptr<ReplayPlan> plan(new ReplayPlan);
  plan->context_id_ = device.id();
  MLXN_TRY(check_nodes(*device.context(), nodes));
  Barriers barriers = derive_barriers(nodes, device.options().hazards);
  plan->tail_ = std::move(barriers.tail);
  plan->ends_with_barrier_ = barriers.at_end;
  plan->barriers_ = barriers.at_end;
  std::erase_if(nodes, [](const CapturedNode& node) { return node.is_barrier; });
  plan->nodes_ = std::move(nodes);
  PassState state;
  for (uint32_t i = 0; i < plan->nodes_.size(); ++i) {
    const CapturedNode& node = plan->nodes_[i];
    Step step = {};
    step.node = i;
    step.barrier = barriers.in_front[i];
    plan->barriers_ += step.barrier != nullptr;
    if (state.pipeline != node.pipeline.state().get()) {
      state.pipeline = node.pipeline.state().get();
      step.pipeline = node.pipeline.metal();
    }
    step.first_set = static_cast<uint32_t>(plan->sets_.size());
    for (const RecordedBinding& binding : node.bindings) {
      auto& slot = state.slots[binding.slot];
      if (!binding.storage) {
        plan->sets_.push_back({binding.slot, nullptr, plan->bytes_.size(), binding.bytes.size()});
        plan->bytes_.insert(plan->bytes_.end(), binding.bytes.begin(), binding.bytes.end());
        slot = {};
        continue;
      }
      plan->storages_.push_back(binding.storage);
      const std::pair<const Storage*, uint64_t> now{binding.storage.get(), binding.offset};
      if (slot == now) continue;
      slot = now;
      plan->sets_.push_back({binding.slot, binding.storage->buffer.get(), binding.offset, 0});
    }
    step.set_count = static_cast<uint32_t>(plan->sets_.size()) - step.first_set;
    step.first_memory = static_cast<uint32_t>(plan->memory_.size());
    for (const ThreadgroupMemory& memory : node.threadgroup_memory) {
      if (std::exchange(state.memory[memory.index], memory.bytes) == memory.bytes) continue;
      plan->memory_.push_back(memory);
    }
    step.memory_count = static_cast<uint32_t>(plan->memory_.size()) - step.first_memory;
    step.grid = node.grid;
    step.threadgroup = node.threadgroup;
    step.threads = node.kind == DispatchKind::kThreads;
    plan->steps_.push_back(step);
  }
  std::sort(plan->storages_.begin(), plan->storages_.end());
  plan->storages_.erase(std::unique(plan->storages_.begin(), plan->storages_.end()),
                        plan->storages_.end());
  return plan;
}

Status ReplayPlan::set_bytes(size_t dispatch, uint32_t slot, std::span<const std::byte> bytes) {
  if (dispatch >= steps_.size()) {
    return Error(ErrorCode::kOutOfRange,
                 str("dispatch ", dispatch, ", expected less than ", steps_.size()));
  }
  const Step& step = steps_[dispatch];
  for (uint32_t i = step.first_set; i < step.first_set + step.set_count; ++i) {
    const Set& set = sets_[i];
    if (set.slot != slot || set.buffer) continue;
    if (set.size != bytes.size()) {
      return Error(ErrorCode::kInvalidArgument,
                   str(bytes.size(), " bytes for slot ", slot, ", expected ", set.size));
    }
    std::memcpy(bytes_.data() + set.offset, bytes.data(), bytes.size());
    for (RecordedBinding& binding : nodes_[step.node].bindings) {
      if (binding.slot == slot) binding.bytes.assign(bytes.begin(), bytes.end());
    }
    ++patches_;
    return {};
  }
  return Error(ErrorCode::kInvalidArgument,
               str("slot ", slot, " of dispatch ", dispatch, " holds no inline bytes"));
}

// Made of state changes the first time: most plans of one pass over a prompt run once, and what
// Metal prepares pays only when it is used again. A serial pass orders every dispatch, which
// commands of an indirect buffer are not.
std::shared_ptr<const PlanFrame> ReplayPlan::lease(const Device& device) const {
  if (device.options().serial_dispatch) return nullptr;
  if (!replayed_.exchange(true, std::memory_order_relaxed)) return nullptr;
  std::call_once(frames_made_, [&] {
    std::vector<bool> barriers;
    for (const Step& step : steps_) barriers.push_back(step.barrier != nullptr);
    frames_ = std::make_shared<PlanFrames>(nodes_, std::move(barriers));
  });
  return frames_->lease(device, patches_);
}

Status ComputeEncoder::replay(const std::shared_ptr<const ReplayPlan>& plan) {
  drop_announced();
  MLXN_TRY(check_open());
  if (!plan) return Error(ErrorCode::kInvalidArgument, "no plan");
  if (plan->context_id_ != context_->id) {
    return Error(ErrorCode::kInvalidArgument, "the plan was made for another device");
  }
  if (plan->steps_.empty()) return {};
  const RuntimeOptions& options = context_->options;
  // What the plan relies on inside a group says nothing about what is in the pass already.
  if (!capture_ && unordered_) emit_barrier("replay");
  if (capture_ || (options.profile_dispatches && submission_->timer())) {
    for (const ReplayPlan::Step& step : plan->steps_) {
      if (step.barrier && !capture_) emit_barrier(step.barrier);
      // Derived ones follow from the accesses again; what the caller asked for is taken down.
      if (step.barrier == kRecordedBarrier && capture_) MLXN_TRY(memory_barrier());
      MLXN_TRY(replay_node(plan->nodes_[step.node], false));
    }
  } else {
    MLXN_TRY(run(*plan));
    submission_->use(std::shared_ptr<const void>(plan));
    if (options.check_host_access) {
      for (const auto& storage : plan->storages_) submission_->use(storage);
    }
  }
  if (plan->ends_with_barrier_) MLXN_TRY(memory_barrier());
  if (capture_ || options.auto_barrier) tracker().add(plan->tail_);
  return {};
}

Status ComputeEncoder::run(const ReplayPlan& plan) {
  MLXN_TRY(pass());
  if (auto frame = plan.lease(device_)) {
    run_frame(plan, *frame);
    submission_->use(std::shared_ptr<const void>(std::move(frame)));
  } else {
    run_steps(plan);
  }
  submission_->dispatches += static_cast<uint32_t>(plan.steps_.size());
  unordered_ = true;
  barrier_reason_ = "";
  return {};
}

void ComputeEncoder::run_frame(const ReplayPlan& plan, const PlanFrame& frame) {
  const PlanFrames::Uses& uses = plan.frames_->uses();
  const auto declare = [&](const std::vector<const MTL::Resource*>& list, auto usage) {
    if (!list.empty()) pass_->useResources(list.data(), list.size(), usage);
  };
  declare(uses.read, MTL::ResourceUsageRead);
  declare(uses.written, MTL::ResourceUsageRead | MTL::ResourceUsageWrite);
  if (frame.bytes()) pass_->useResource(frame.bytes(), MTL::ResourceUsageRead);
  pass_->executeCommandsInBuffer(frame.commands(), NS::Range(0, frame.count()));
  const uint64_t inner = plan.barriers_ - plan.ends_with_barrier_;
  if (inner == 0) return;
  ranges_.reset();
  bump(context_->counters.barriers, inner);
  submission_->barriers += static_cast<uint32_t>(inner);
}

void ComputeEncoder::run_steps(const ReplayPlan& plan) {
  for (const ReplayPlan::Step& step : plan.steps_) {
    if (step.barrier) emit_barrier(step.barrier);
    if (step.pipeline) pass_->setComputePipelineState(step.pipeline);
    for (uint32_t i = 0; i < step.set_count; ++i) {
      const ReplayPlan::Set& set = plan.sets_[step.first_set + i];
      if (set.buffer) {
        pass_->setBuffer(set.buffer, set.offset, set.slot);
      } else {
        pass_->setBytes(plan.bytes_.data() + set.offset, set.size, set.slot);
      }
    }
    for (uint32_t i = 0; i < step.memory_count; ++i) {
      const ThreadgroupMemory& memory = plan.memory_[step.first_memory + i];
      pass_->setThreadgroupMemoryLength(threadgroup_bytes(memory.bytes), memory.index);
    }
    if (step.threads) {
      pass_->dispatchThreads(step.grid, step.threadgroup);
    } else {
      pass_->dispatchThreadgroups(step.grid, step.threadgroup);
    }
  }
}

}  // namespace mlxn
