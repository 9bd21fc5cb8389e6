// Encoding of dispatches: into the one compute pass of a command buffer, or into a list.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mlxn/core/device/device.h"
#include "mlxn/core/encode/dispatch.h"
#include "mlxn/core/encode/encode_forms.h"
#include "mlxn/core/graph/captured_node.h"

namespace mlxn {

class PlanFrame;
class ReplayPlan;
class Submission;

// The compute pass of a command buffer while it is open. Metal wants it ended before it goes.
class OpenPass {
 public:
  OpenPass() = default;
  explicit OpenPass(NS::SharedPtr<MTL::ComputeCommandEncoder> pass) : pass_(std::move(pass)) {}
  OpenPass(OpenPass&&) noexcept = default;
  OpenPass& operator=(OpenPass&& other) noexcept {
    end();
    pass_ = std::move(other.pass_);
    return *this;
  }
  ~OpenPass() { end(); }

  void end() {
    if (pass_) pass_->endEncoding();
    pass_.reset();
  }
  explicit operator bool() const { return static_cast<bool>(pass_); }
  MTL::ComputeCommandEncoder* get() const { return pass_.get(); }
  MTL::ComputeCommandEncoder* operator->() const { return pass_.get(); }

 private:
  NS::SharedPtr<MTL::ComputeCommandEncoder> pass_;
};

// Dispatch-only side of an encoder; who may commit is CommandEncoder's or EncoderSession's matter.
// The pass is opened by the first live dispatch and is concurrent: dispatches are ordered only by
// barriers, unless RuntimeOptions::serial_dispatch. For one thread at a time; may move between
// threads.
//
// With RuntimeOptions::auto_barrier every dispatch is checked against what the pass has read and
// written since the last barrier, by its declared accesses or else by the kernel's reflection, and
// a barrier is emitted where they conflict. Without it only what barrier_between, add_to_tracker
// and replay tell it is known.
//
// A call that fails with an Error has encoded and tracked nothing. Every public function of an
// encoder that was moved from fails with kInvalidState or, where it returns no Status, does
// nothing.
class ComputeEncoder : public EncodeForms {
 public:
  // Work that was not committed is dropped with the encoder.

  const Device& device() const { return device_; }

  // The one way in; the forms of EncodeForms fill in its description.
  Status dispatch(const Dispatch& dispatch) override;

  // For the next dispatch or replay only, also when that one fails. What the dispatch says itself
  // comes first; a replay has its own ops and accesses, and drops them.
  void set_op_kind(const OpTag& op) { announced_.op = op; }
  void set_pending_buffer_ranges(std::vector<BufferRange> reads,
                                 const std::vector<BufferRange>& writes);

  // Orders everything before it against everything after it in this pass, and starts a new group
  // for the tracker. Without an open pass there is nothing to order, and nothing happens.
  Status memory_barrier();
  Status force_barrier_and_reset_tracker() { return memory_barrier(); }
  // Emits a barrier if a dispatch with these accesses needs one, and declares them for the next
  // dispatch. Works with auto_barrier on or off. True when a barrier was emitted or recorded.
  Result<bool> barrier_between(Buffers reads, Buffers writes);
  // Tells the tracker of accesses that no dispatch of this encoder declared.
  Status add_to_tracker(Buffers reads, Buffers writes);
  size_t mem_ranges_len() const { return tracker().len(); }
  const MemRanges& mem_ranges() const { return tracker(); }

  // Capture: dispatches and barriers are taken down and reach no GPU; they are tracked apart from
  // those of the pass. A capture in progress is dropped by a new one.
  void start_capture();
  bool is_capturing() const { return capture_ != nullptr; }
  std::optional<std::vector<CapturedNode>> take_capture();
  // Fills in the accesses of the last captured dispatch where they are not known. Without reads and
  // writes they stay unknown.
  void annotate_last_dispatch_if_missing(std::vector<BufferRange> reads,
                                         const std::vector<BufferRange>& writes);

  // Encodes a recorded dispatch again; it does not count as a new one.
  Status replay_dispatch(const CapturedNode& node);
  // Encodes a prepared graph; see replay.h.
  Status replay(const std::shared_ptr<const ReplayPlan>& plan);

  // The current command buffer, made if need be; null when the device has none left.
  MTL::CommandBuffer* metal_command_buffer();
  // The pass that dispatches go to, for Metal calls of one's own; null while none is open.
  // Dispatches encoded on it are not tracked, and what it has bound is not kept.
  MTL::ComputeCommandEncoder* metal_pass() const { return pass_.get(); }

 protected:
  enum class Counting { kOn, kOff };  // in Counters
  explicit ComputeEncoder(const Device& device, Counting counting = Counting::kOn);

  // Next command buffer on the same queue; the pass must be ended.
  void rotate();
  void end_pass();
  void label(const std::string& label);  // command buffer and, while open, pass
  Status commit(const std::string& label);
  Status check_open() const override;

  Device device_;
  Context* context_;  // of device_
  std::shared_ptr<Submission> submission_;

 private:
  friend class EncoderSession;

  // What was announced for the next dispatch.
  struct Announced {
    OpTag op;
    bool declared = false;  // `accesses` are all of its accesses
    std::vector<BufferRange> accesses;
  };
  // Dispatches taken down, and what they read and write.
  struct Capture {
    std::vector<CapturedNode> nodes;
    MemRanges ranges;
  };

  MemRanges& tracker() { return capture_ ? capture_->ranges : ranges_; }
  const MemRanges& tracker() const { return capture_ ? capture_->ranges : ranges_; }
  Status check(const Dispatch& dispatch) const;
  Status dispatch_announced(const Dispatch& dispatch);
  void capture(const Dispatch& dispatch);
  const OpTag& op_of(const Dispatch& dispatch) const;
  void track(const Dispatch& dispatch);
  template <class Ranges>
  void resolve_hazard(bool free, const Ranges& add);
  Result<MTL::ComputeCommandEncoder*> pass();
  Status run(const Dispatch& dispatch, const OpTag& op);
  // Into the open pass: by a frame, or by state changes.
  Status run(const ReplayPlan& plan);
  void run_frame(const ReplayPlan& plan, const PlanFrame& frame);
  void run_steps(const ReplayPlan& plan);
  Status replay_node(const CapturedNode& node, bool tracked);
  HazardMask hazards() const;
  // False when there is no pass to put one into.
  bool emit_barrier(const char* reason);
  void record_announced();
  void drop_announced();
  std::vector<BufferRange> accesses_of(const Dispatch& dispatch, bool& annotated) const;

  Counting counting_;
  OpenPass pass_;
  std::unique_ptr<Capture> capture_;
  Announced announced_;
  MemRanges ranges_;                 // of the pass
  bool unordered_ = false;           // the pass holds dispatches behind its last barrier
  const char* barrier_reason_ = "";  // of the last barrier, until the next dispatch
};

// A command buffer of its own, with the commit family. States: open, committed. Calls in the wrong
// order fail with kInvalidState.
class CommandEncoder : public ComputeEncoder {
 public:
  explicit CommandEncoder(const Device& device);

  // Submits without waiting. What fails on the GPU comes out at wait_until_completed, or at
  // Device::synchronize.
  Status commit();
  Status commit_labeled(const std::string& label);
  Status wait_until_completed();
  Status commit_and_wait();
  Status commit_and_wait_labeled(const std::string& label);
  // Start and end on the GPU's clock, in seconds.
  Result<std::pair<double, double>> commit_wait_with_gpu_time();
  // After completion: nanoseconds on the GPU.
  uint64_t gpu_time_ns() const;
};

}  // namespace mlxn
