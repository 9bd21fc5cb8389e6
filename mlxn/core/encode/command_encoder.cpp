#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/device/internal/metal_util.h"
#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/encode/internal/submission.h"

namespace mlxn {
namespace {

Status check_label(const std::string& label) {
  if (!label.empty()) return {};
  return Error(ErrorCode::kInvalidArgument, "empty label, expected one; commit() takes none");
}

}  // namespace

Result<CommandEncoder> Device::command_encoder() const {
  return CommandEncoder(*this);
}

CommandEncoder::CommandEncoder(const Device& device) : ComputeEncoder(device) {}

Status CommandEncoder::commit() {
  return ComputeEncoder::commit({});
}

Status CommandEncoder::commit_labeled(const std::string& label) {
  MLXN_TRY(check_label(label));
  return ComputeEncoder::commit(label);
}

Status CommandEncoder::wait_until_completed() {
  if (!submission_) return check_open();
  return submission_->wait();
}

Status CommandEncoder::commit_and_wait() {
  MLXN_TRY(check_open());
  bump(context_->counters.syncs);
  MLXN_TRY(ComputeEncoder::commit({}));
  return submission_->wait();
}

Status CommandEncoder::commit_and_wait_labeled(const std::string& label) {
  MLXN_TRY(check_label(label));
  MLXN_TRY(check_open());
  bump(context_->counters.syncs);
  MLXN_TRY(ComputeEncoder::commit(label));
  return submission_->wait();
}

Result<std::pair<double, double>> CommandEncoder::commit_wait_with_gpu_time() {
  MLXN_TRY(commit_and_wait());
  return std::pair(submission_->gpu_start(), submission_->gpu_end());
}

uint64_t CommandEncoder::gpu_time_ns() const {
  if (!submission_ || !submission_->done()) return 0;
  return nanoseconds(submission_->gpu_end() - submission_->gpu_start());
}

}  // namespace mlxn
