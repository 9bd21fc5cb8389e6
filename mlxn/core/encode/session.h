#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

// The end of a fenced stage, for others to wait on.
struct StageFence {
  NS::SharedPtr<MTL::SharedEvent> event;
  uint64_t value = 0;
};

// An encoder over many command buffers, one for each stage. A stage ends by a fence (the next one
// waits for it on the GPU), by a plain commit (queue order alone), or by a blocking commit; then
// reset_for_next_stage opens the next.
//
//   state     drained  fence pending
//   open      no       no             dispatches go in
//   drained   yes      no             committed; only waiting and reset are left
//   fenced    yes      yes            the same, and the next stage will wait
//
// A stage that fails poisons the session: later submissions and waits return its error. What was
// moved from fails with kInvalidState. One user at a time; may move between threads.
class EncoderSession {
 public:
  explicit EncoderSession(const Device& device);
  EncoderSession(EncoderSession&&) noexcept;
  EncoderSession& operator=(EncoderSession&&) = delete;
  ~EncoderSession();  // drops an open stage; what was committed runs on

  // The gate: whether callers that can do both should use sessions on this device.
  static bool enabled(const Device& device) { return device.options().encoder_session; }

  // Names the open stage; the last name counts. No GPU call.
  void begin_stage(std::string label) { label_ = std::move(label); }
  // For dispatches and barriers. Fails them with kInvalidState while drained.
  ComputeEncoder& encoder() { return encoder_; }

  // Submits without waiting. Success without effect when drained.
  Status commit_stage();
  // Submits what is open and waits for every stage submitted so far. The first failure of any of
  // them, now and at each later call.
  Status commit_and_wait();
  // Submits and signals the next fence value. kInvalidState when drained. A label replaces
  // begin_stage's.
  Status fence_stage(std::optional<std::string> label = std::nullopt);
  // Opens the next stage, behind the fence if one is pending. Without effect on an open stage with
  // nothing in it; kInvalidState when work would be mixed up.
  Status reset_for_next_stage();

  // Waits on the host for the stage fenced with this value, or for all submitted stages.
  Status wait_for_fence(uint64_t value);
  Status wait_for_all();
  // The open stage starts what follows only after another session's stage.
  Status wait_for(const StageFence& fence);
  // The last fenced stage.
  StageFence fence() const { return {event_, fence_value_}; }

  // Stage on the device's residency set; false without one.
  bool add_to_residency_set(const Buffer& buffer);
  bool remove_from_residency_set(const Buffer& buffer);

  bool is_drained() const { return drained_; }
  bool is_fence_pending() const { return fence_pending_; }
  bool has_event() const { return static_cast<bool>(event_); }
  uint64_t fence_value() const { return fence_value_; }  // 1, 2, 3, ...; never falls
  uint64_t wait_value() const { return wait_value_; }    // of the last wait that was encoded
  uint64_t wait_count() const { return wait_count_; }
  MTL::CommandBuffer* metal_command_buffer() { return encoder_.metal_command_buffer(); }

 private:
  struct Stage {
    std::shared_ptr<Submission> submission;
    uint64_t fence = 0;  // 0: not fenced
  };

  Status check_usable() const;
  Status submit(uint64_t fence);
  Status ensure_event();
  Status note(Status status);
  void forget_finished();
  void forget(RecycledVector<Stage>::iterator end);

  ComputeEncoder encoder_;
  NS::SharedPtr<MTL::SharedEvent> event_;
  uint64_t fence_value_ = 0, wait_value_ = 0, wait_count_ = 0;
  std::string label_;
  bool drained_ = false, fence_pending_ = false;
  RecycledVector<Stage> stages_;  // submitted, not yet known to be good
  std::optional<Error> error_;    // the first failure
};

}  // namespace mlxn
