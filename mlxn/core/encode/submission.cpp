#include "mlxn/core/encode/internal/submission.h"

#include "mlxn/base/log.h"
#include "mlxn/base/strings.h"
#include "mlxn/core/device/internal/metal_util.h"

namespace mlxn {
namespace {

std::atomic<uint64_t> g_next_submission{1};  // over all contexts: pipelines may be shared

std::string name_of(const std::string& label) {
  return label.empty() ? "command buffer" : str("command buffer '", label, "'");
}

// By us or by whoever has the raw object.
bool is_committed(const MTL::CommandBuffer* commands) {
  return commands->status() >= MTL::CommandBufferStatusCommitted;
}

std::optional<Error> error_of(MTL::CommandBuffer* commands, const std::string& label) {
  const MTL::CommandBufferStatus status = commands->status();
  if (status == MTL::CommandBufferStatusCompleted) return {};
  const std::string name = name_of(label);
  if (status == MTL::CommandBufferStatusError) {
    return Error(ErrorCode::kExecutionFailed, str(name, " failed: ", to_text(commands->error())));
  }
  return Error(ErrorCode::kExecutionFailed,
               str(name, " has status ", static_cast<int>(status), " after the wait, expected ",
                   static_cast<int>(MTL::CommandBufferStatusCompleted), " (completed)"));
}

}  // namespace

Submission::Submission(std::shared_ptr<Queue> queue)
    : queue_(std::move(queue)),
      context_(queue_->context),
      id_(g_next_submission.fetch_add(1, std::memory_order_relaxed)) {}

Result<MTL::CommandBuffer*> Submission::command_buffer() {
  if (commands_) return commands_.get();
  AutoreleaseScope scope;
  // What is bound is held here in any case; retaining it in Metal as well is the careful default.
  commands_ = NS::RetainPtr(context_->options.unretained_references
                                ? queue_->metal->commandBufferWithUnretainedReferences()
                                : queue_->metal->commandBuffer());
  if (!commands_) return Error(ErrorCode::kOutOfMemory, "the queue gave no command buffer");
  if (!label_.empty()) commands_->setLabel(ns_string(label_));
  return commands_.get();
}

DispatchTimer* Submission::timer() {
  if (!timer_asked_) {
    timer_asked_ = true;
    timer_ = DispatchTimer::create(*context_);
  }
  return timer_.get();
}

void Submission::set_label(const std::string& label) {
  label_ = label;
  if (!commands_) return;
  AutoreleaseScope scope;
  commands_->setLabel(ns_string(label));
}

Submission::~Submission() {
  if (commands_ && !committed_ && is_committed(commands_.get())) commands_->waitUntilCompleted();
}

Status Submission::commit() {
  MLXN_ASSIGN(MTL::CommandBuffer * commands, command_buffer());
  if (is_committed(commands)) {
    // Too late for a handler, and whoever waits must not wait for ever.
    AutoreleaseScope scope;
    commands->waitUntilCompleted();
    return Error(ErrorCode::kInvalidState,
                 str(name_of(label_), " was committed already, not by its encoder"));
  }
  if (context_->options.check_host_access) {
    for (auto& storage : storages_) storage->in_flight.fetch_add(1, std::memory_order_relaxed);
  }
  if (context_->residency) context_->residency->flush();
  context_->submission_began();
  AutoreleaseScope scope;
  queue_->keep(shared_from_this());
  commands->addCompletedHandler(queue_->on_completed);
  committed_ = true;
  commands->commit();
  return {};
}

Status Submission::wait() {
  if (!committed_) {
    return Error(ErrorCode::kInvalidState, "wait before commit, which would never end");
  }
  AutoreleaseScope scope;
  commands_->waitUntilCompleted();
  complete(commands_.get());  // the handler may come after the wait
  if (!error_) return {};
  context_->error_observed(id_);
  return *error_;
}

std::optional<Error> Submission::error() const {
  return done() ? error_ : std::nullopt;
}

void Submission::complete(MTL::CommandBuffer* commands) {
  std::call_once(completed_, [&] {
    AutoreleaseScope scope;
    std::optional<Error> error = error_of(commands, label_);
    gpu_start_ = commands->GPUStartTime();
    gpu_end_ = commands->GPUEndTime();
    record(error);
    if (context_->options.check_host_access) {
      for (auto& storage : storages_) storage->in_flight.fetch_sub(1, std::memory_order_release);
    }
    storages_.clear();
    pipelines_.clear();
    objects_.clear();
    if (error) {
      log(LogLevel::kError, error->to_string());
      if (on_failure_) on_failure_(*error);
    }
    on_failure_ = nullptr;
    error_ = std::move(error);
    done_.store(true, std::memory_order_release);
    context_->submission_ended(id_, error_);
  });
}

void Submission::record(const std::optional<Error>& error) {
  const RuntimeOptions& options = context_->options;
  if (!options.profile_command_buffers && !options.profile_dispatches) return;
  CommandBufferEntry entry;
  entry.label = label_;
  entry.queue = reinterpret_cast<uintptr_t>(queue_->metal.get());
  entry.start_ns = nanoseconds(gpu_start_);
  entry.end_ns = nanoseconds(gpu_end_);
  entry.dispatches = dispatches;
  entry.barriers = barriers;
  if (error) entry.error = error->message();
  context_->profile.record_command_buffer(std::move(entry));
  if (error) return;  // times of a failed run mean nothing
  if (options.profile_command_buffers && !label_.empty()) {
    context_->profile.record(label_, nanoseconds(gpu_end_ - gpu_start_));
  }
  if (timer_) timer_->resolve(label_);
}

}  // namespace mlxn
