#include "mlxn/core/encode/session.h"

#include <algorithm>

#include "mlxn/base/strings.h"
#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/encode/internal/submission.h"
#include "mlxn/core/memory/internal/storage.h"

namespace mlxn {

Result<EncoderSession> Device::encoder_session() const {
  return EncoderSession(*this);
}

EncoderSession::EncoderSession(const Device& device) : encoder_(device) {}
EncoderSession::EncoderSession(EncoderSession&&) noexcept = default;
EncoderSession::~EncoderSession() = default;

Status EncoderSession::check_usable() const {
  if (encoder_.submission_) return {};
  return Error(ErrorCode::kInvalidState, "the session was moved from");
}

Status EncoderSession::note(Status status) {
  if (!status && !error_) error_ = status.error();
  return status;
}

// Stages known to be good need no keeping, so a session may run for ever. Only from the front: a
// failed stage takes those behind it with it, and the first error is the one to tell.
void EncoderSession::forget_finished() {
  const auto running =
      std::ranges::find_if(stages_, [](const Stage& stage) { return !stage.submission->done(); });
  forget(running);
}

// Up to `end`, which is waited for.
void EncoderSession::forget(RecycledVector<Stage>::iterator end) {
  for (auto stage = stages_.begin(); stage != end; ++stage) {
    (void)note(stage->submission->wait()).has_value();
  }
  stages_.erase(stages_.begin(), end);
}

Status EncoderSession::ensure_event() {
  if (event_) return {};
  event_ = NS::TransferPtr(encoder_.device().metal_device()->newSharedEvent());
  if (event_) return {};
  return Error(ErrorCode::kOutOfMemory, "the device gave no event");
}

Status EncoderSession::submit(uint64_t fence) {
  forget_finished();
  if (error_) return *error_;
  MLXN_TRY(encoder_.check_open());
  Submission& submission = *encoder_.submission_;
  if (!label_.empty()) encoder_.label(label_);  // the pass has it only while it is open
  if (fence != 0) {
    MLXN_TRY(ensure_event());
    MLXN_ASSIGN(MTL::CommandBuffer * commands, submission.command_buffer());
    encoder_.end_pass();
    commands->encodeSignalEvent(event_.get(), fence);
    // A command buffer that fails may never signal; whoever waits must not hang.
    submission.on_failure([event = event_, fence](const Error&) {
      if (event->signaledValue() < fence) event->setSignaledValue(fence);
    });
  }
  MLXN_TRY(encoder_.commit({}));
  stages_.push_back({encoder_.submission_, fence});
  drained_ = true;
  fence_pending_ = fence != 0;
  return {};
}

Status EncoderSession::commit_stage() {
  MLXN_TRY(check_usable());
  if (drained_) return {};
  return submit(0);
}

Status EncoderSession::commit_and_wait() {
  MLXN_TRY(check_usable());
  if (!drained_) {
    bump(encoder_.context_->counters.syncs);
    MLXN_TRY(note(submit(0)));
  }
  return wait_for_all();
}

Status EncoderSession::fence_stage(std::optional<std::string> label) {
  MLXN_TRY(check_usable());
  if (drained_) {
    return Error(ErrorCode::kInvalidState,
                 str("fence_stage", label ? str("(\"", *label, "\")") : "()",
                     ": the stage is already committed; call reset_for_next_stage first"));
  }
  if (label) label_ = std::move(*label);
  MLXN_TRY(submit(fence_value_ + 1));
  ++fence_value_;
  return {};
}

Status EncoderSession::reset_for_next_stage() {
  MLXN_TRY(check_usable());
  if (!drained_) {
    MLXN_TRY(encoder_.check_open());
    if (!encoder_.submission_->has_command_buffer() || encoder_.submission_->dispatches == 0) {
      return {};
    }
    return Error(ErrorCode::kInvalidState,
                 "reset_for_next_stage: the stage holds work that was not committed");
  }
  forget_finished();
  encoder_.rotate();
  label_.clear();
  drained_ = false;
  if (!std::exchange(fence_pending_, false)) return {};
  MLXN_ASSIGN(MTL::CommandBuffer * commands, encoder_.submission_->command_buffer());
  commands->encodeWait(event_.get(), fence_value_);
  ++wait_count_;
  wait_value_ = fence_value_;
  return {};
}

Status EncoderSession::wait_for_fence(uint64_t value) {
  MLXN_TRY(check_usable());
  if (value == 0 || value > fence_value_) {
    return Error(ErrorCode::kInvalidArgument,
                 str("fence value ", value, ", expected 1 to ", fence_value_));
  }
  const auto stage = std::ranges::find(stages_, value, &Stage::fence);
  if (stage != stages_.end()) forget(stage + 1);
  forget_finished();
  if (error_) return *error_;
  return {};
}

Status EncoderSession::wait_for_all() {
  MLXN_TRY(check_usable());
  forget(stages_.end());
  if (error_) return *error_;
  return {};
}

Status EncoderSession::wait_for(const StageFence& fence) {
  MLXN_TRY(encoder_.check_open());
  if (!fence.event) return Error(ErrorCode::kInvalidArgument, "the fence was never signalled");
  MLXN_ASSIGN(MTL::CommandBuffer * commands, encoder_.submission_->command_buffer());
  encoder_.end_pass();
  commands->encodeWait(fence.event.get(), fence.value);
  return {};
}

bool EncoderSession::add_to_residency_set(const Buffer& buffer) {
  if (!check_usable() || !buffer || !encoder_.context_->residency) return false;
  buffer.storage()->make_resident();
  return true;
}

bool EncoderSession::remove_from_residency_set(const Buffer& buffer) {
  if (!check_usable() || !buffer || !encoder_.context_->residency) return false;
  buffer.storage()->end_residency();
  return true;
}

}  // namespace mlxn
