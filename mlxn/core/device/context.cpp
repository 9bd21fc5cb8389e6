#include "mlxn/core/device/internal/context.h"

#include <algorithm>

#include "mlxn/base/log.h"
#include "mlxn/base/strings.h"
#include "mlxn/core/device/internal/metal_util.h"
#include "mlxn/core/encode/internal/submission.h"

namespace mlxn {
namespace {

std::atomic<uint64_t> g_next_context{1};

std::atomic<uint64_t> g_traces_written{0};

RuntimeOptions completed(RuntimeOptions options) {
  options.profile_command_buffers |= !options.trace_path.empty();
  return options;
}

DeviceLimits limits_of(MTL::Device* device) {
  DeviceLimits limits;
  limits.max_buffer_length = device->maxBufferLength();
  limits.recommended_working_set = device->recommendedMaxWorkingSetSize();
  limits.max_threadgroup_memory = device->maxThreadgroupMemoryLength();
  limits.max_threads_per_threadgroup =
      static_cast<uint32_t>(device->maxThreadsPerThreadgroup().width);
  limits.unified_memory = device->hasUnifiedMemory();
  AutoreleaseScope scope;
  const MTL::Architecture* architecture = device->architecture();
  limits.is_processor = architecture && to_text(architecture->name()).starts_with("cpu;");
  limits.dispatch_sampling =
      device->supportsCounterSampling(MTL::CounterSamplingPointAtDispatchBoundary);
  return limits;
}

}  // namespace

Context::Context(MTL::Device* metal_device, RuntimeOptions runtime_options)
    : device(NS::RetainPtr(metal_device)),
      options(completed(std::move(runtime_options))),
      id(g_next_context.fetch_add(1, std::memory_order_relaxed)),
      limits(limits_of(metal_device)) {
  AutoreleaseScope scope;
  profile.set_device(id, to_text(metal_device->name()));
  std::string reason = "switched off";
  if (options.residency) {
    auto set = ResidencySet::create(metal_device, counters);
    if (set) {
      residency = std::move(*set);
    } else {
      // Residency is a hint: without it everything still works.
      reason = set.error().message();
      log(LogLevel::kWarning, str("no residency set, going on without: ", reason));
    }
  }
  if (options.log_init) {
    log(LogLevel::kWarning, str("residency ", residency ? "true" : str("false (", reason, ")")));
  }
}

Context::~Context() {
  if (options.trace_path.empty()) return;
  const uint64_t number = g_traces_written.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::string path = number == 1 ? options.trace_path : str(options.trace_path, ".", number);
  if (Status status = profile.write_trace(path); !status) {
    log(LogLevel::kError, status.error().to_string());
  }
}

void Context::warn_once(Warning warning, const std::string& text) {
  const uint32_t bit = 1u << static_cast<uint32_t>(warning);
  if (warned_.fetch_or(bit, std::memory_order_relaxed) & bit) return;
  log(LogLevel::kWarning, text);
}

void Context::submission_began() {
  std::lock_guard lock(mutex_);
  ++in_flight_;
}

void Context::submission_ended(uint64_t submission, const std::optional<Error>& error) {
  std::lock_guard lock(mutex_);
  if (error && !unseen_error_) unseen_error_.emplace(submission, *error);
  if (--in_flight_ == 0) idle_.notify_all();
}

void Context::error_observed(uint64_t submission) {
  std::lock_guard lock(mutex_);
  if (unseen_error_ && unseen_error_->first == submission) unseen_error_.reset();
}

Status Context::synchronize() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return in_flight_ == 0; });
  if (!unseen_error_) return {};
  Error error = std::move(unseen_error_->second);
  unseen_error_.reset();
  return error;
}

Queue::Queue(std::shared_ptr<Context> owner, NS::SharedPtr<MTL::CommandQueue> queue)
    : context(std::move(owner)),
      metal(std::move(queue)),
      on_completed([this](MTL::CommandBuffer* done) {
        // Held to the end: with it goes, perhaps, this queue.
        if (const auto submission = take(done)) submission->complete(done);
      }) {
  if (context->residency) context->residency->attach(metal.get());
}

Queue::~Queue() {
  if (context->residency) context->residency->detach(metal.get());
}

void Queue::keep(std::shared_ptr<Submission> submission) {
  std::lock_guard lock(mutex_);
  running_.push_back(std::move(submission));
}

std::shared_ptr<Submission> Queue::take(const MTL::CommandBuffer* commands) {
  std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      running_, [&](const auto& submission) { return submission->is_of(commands); });
  if (found == running_.end()) return nullptr;
  std::shared_ptr<Submission> submission = std::move(*found);
  running_.erase(found);
  return submission;
}

}  // namespace mlxn
