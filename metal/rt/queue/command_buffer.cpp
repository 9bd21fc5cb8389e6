// The life of a command buffer: encoding state, commit, execution, completion.
#include "metal/rt/queue/command_buffer.h"

#include <algorithm>
#include <chrono>

#include "metal/rt/device/validation.h"
#include "metal/rt/encode/encoder.h"
#include "metal/rt/trace/trace.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

MTL::CommandBufferError error_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOutOfMemory: return MTL::CommandBufferErrorOutOfMemory;
    case ErrorCode::kDeviceLost: return MTL::CommandBufferErrorDeviceRemoved;
    case ErrorCode::kPageFault: return MTL::CommandBufferErrorPageFault;
    case ErrorCode::kTimeout: return MTL::CommandBufferErrorTimeout;
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kOutOfRange:
    case ErrorCode::kInvalidState: return MTL::CommandBufferErrorInvalidResource;
    default: return MTL::CommandBufferErrorInternal;
  }
}

bool is_final(MTL::CommandBufferStatus status) {
  return status >= MTL::CommandBufferStatusCompleted;
}

}  // namespace

CommandBufferObject::CommandBufferObject(QueueObject* owner,
                                         const CommandBufferDescriptorObject& descriptor)
    : commandQueue(owner),
      retainedReferences(descriptor.retainedReferences),
      errorOptions(descriptor.errorOptions) {}

CommandBufferObject::~CommandBufferObject() {
  if (status_ >= MTL::CommandBufferStatusCommitted) return;  // complete() has done the rest
  drop_steps();
  if (status_ == MTL::CommandBufferStatusEnqueued) commandQueue->forget(this);
  commandQueue->dismiss();
}

std::string CommandBufferObject::title() const {
  const std::string text = label.text();
  return text.empty() ? "command buffer" : str("command buffer '", text, "'");
}

void CommandBufferObject::violation(std::string_view call, std::string_view text) {
  const std::string message = report(call, text);
  std::lock_guard lock(mutex_);
  if (!violation_ && !is_final(status_)) violation_ = Error(ErrorCode::kInvalidState, message);
}

void CommandBufferObject::misuse(std::string_view call, std::string_view text) {
  if (device().validates()) violation(call, text);
}

std::optional<Error> CommandBufferObject::first_violation() const {
  std::lock_guard lock(mutex_);
  return violation_;
}

bool CommandBufferObject::can_encode(std::string_view call) {
  if (current_status() >= MTL::CommandBufferStatusCommitted) {
    violation(call, str(title(), " is already committed"));
    return false;
  }
  if (open_encoder_) {
    violation(call, "another encoder of the command buffer is open; call endEncoding on it first");
    return false;
  }
  return true;
}

Work& CommandBufferObject::work() {
  if (steps_.empty() || !std::holds_alternative<std::unique_ptr<Work>>(steps_.back())) {
    steps_.emplace_back(commandQueue->take_work(retainedReferences));
  }
  return *std::get<std::unique_ptr<Work>>(steps_.back());
}

void CommandBufferObject::drop_steps() {
  for (Step& step : steps_) {
    if (auto* work = std::get_if<std::unique_ptr<Work>>(&step)) {
      commandQueue->give_back(std::move(*work));
    }
  }
  steps_.clear();
}

Work& CommandBufferObject::begin(EncoderObject* encoder) {
  open_encoder_ = encoder;
  Work& current = work();
  current.barrier();
  return current;
}

void CommandBufferObject::end(EncoderObject* encoder) {
  if (open_encoder_ != encoder) return;
  open_encoder_ = nullptr;
  // After commit the list belongs to the queue's thread.
  const bool open = current_status() < MTL::CommandBufferStatusCommitted;
  if (open && (errorOptions & MTL::CommandBufferErrorOptionEncoderExecutionStatus)) {
    encoder_infos_.push_back(encoder->info());
  }
}

void CommandBufferObject::encode_signal(EventObject* event, uint64_t value) {
  constexpr const char* kCall = "MTL::CommandBuffer::encodeSignalEvent";
  if (!can_encode(kCall)) return;
  if (!event) return violation(kCall, "null event, expected one");
  steps_.emplace_back(Signal{Ref(event), value});
}

void CommandBufferObject::encode_wait(EventObject* event, uint64_t value) {
  constexpr const char* kCall = "MTL::CommandBuffer::encodeWait";
  if (!can_encode(kCall)) return;
  if (!event) return violation(kCall, "null event, expected one");
  steps_.emplace_back(Wait{Ref(event), value});
}

void CommandBufferObject::add_handler(const char* call,
                                      std::vector<MTL::HandlerFunction> CommandBufferObject::* list,
                                      const MTL::HandlerFunction& handler) {
  if (!handler) return violation(call, "null handler, expected a function");
  if (current_status() >= MTL::CommandBufferStatusCommitted) {
    return violation(call, str(title(), " is already committed; add handlers before commit"));
  }
  (this->*list).push_back(handler);
}

void CommandBufferObject::enqueue() {
  if (current_status() != MTL::CommandBufferStatusNotEnqueued) {
    return misuse("MTL::CommandBuffer::enqueue", str(title(), " is already enqueued"));
  }
  set_status(MTL::CommandBufferStatusEnqueued);
  commandQueue->enqueue(this);
}

void CommandBufferObject::commit() {
  constexpr const char* kCall = "MTL::CommandBuffer::commit";
  if (current_status() >= MTL::CommandBufferStatusCommitted) {
    return violation(kCall, str(title(), " is already committed"));
  }
  if (open_encoder_) violation(kCall, "an encoder is still open; call endEncoding on it first");
  if (current_status() == MTL::CommandBufferStatusNotEnqueued) commandQueue->enqueue(this);
  set_status(MTL::CommandBufferStatusCommitted);
  trace_ = trace_for(*commandQueue);
  commandQueue->commit(Ref(this));
}

void CommandBufferObject::set_status(MTL::CommandBufferStatus status) {
  std::lock_guard lock(mutex_);
  status_ = status;
  changed_.notify_all();
}

Ref<ErrorObject> CommandBufferObject::current_error() const {
  std::lock_guard lock(mutex_);
  return error_;
}

void CommandBufferObject::wait_until(MTL::CommandBufferStatus status, const char* call) {
  std::unique_lock lock(mutex_);
  if (status_ < MTL::CommandBufferStatusCommitted) {
    lock.unlock();
    return violation(call, str(title(), " is not committed, so the wait would never end"));
  }
  const bool handlers_too = status == MTL::CommandBufferStatusCompleted;
  auto reached = [&] { return handlers_too ? finished_ : status_ >= status; };
  if (reached()) return;
  if (commandQueue->is_current_thread()) {
    if (status_ >= status) return;  // inside one of its own handlers
    lock.unlock();
    report(call,
           "called on the queue's own thread for a command buffer that has not run; the wait "
           "would never end");
    return;
  }
  lock.unlock();
  commandQueue->help([&] {
    std::lock_guard inner(mutex_);
    return reached();
  });
  lock.lock();
  changed_.wait(lock, reached);
}

void CommandBufferObject::run_handlers(std::vector<MTL::HandlerFunction>& handlers) {
  auto list = std::move(handlers);
  handlers.clear();
  for (auto& handler : list) handler(api(this));
}

std::optional<Error> CommandBufferObject::run_work(Work& work) {
  // The memory and code behind such an object are kept, so that running is safe.
  const std::string gone = device().validates() ? work.released() : "";
  if (!gone.empty()) {
    Error error(ErrorCode::kInvalidState, str(gone, " was released before the ", title(), " ran"));
    report("MTL::CommandBuffer", error.message());
    return error;
  }
  work.list.label = label.text();
  RunTimes times;
  auto run = [&] { return device().executor().run(work.list, times); };
  const Status status = trace_ ? trace_->run_recorded(work, is_first(work), run) : run();
  if (GPUStartTime == 0) GPUStartTime = static_cast<double>(times.start_ns) * 1e-9;
  if (times.end_ns != 0) GPUEndTime = static_cast<double>(times.end_ns) * 1e-9;
  if (status) return {};
  return status.error();
}

bool CommandBufferObject::is_first(const Work& work) const {
  for (const Step& step : steps_) {
    if (auto* one = std::get_if<std::unique_ptr<Work>>(&step)) return one->get() == &work;
  }
  return false;
}

std::optional<Error> CommandBufferObject::run_step(Step& step) {
  if (auto* work = std::get_if<std::unique_ptr<Work>>(&step)) return run_work(**work);
  if (auto* signal = std::get_if<Signal>(&step)) {
    signal->event->signal(signal->value);
    return {};
  }
  const Wait& wait = std::get<Wait>(step);
  const auto poison = wait.event->wait(wait.value);
  if (!poison) return {};
  return Error(ErrorCode::kExecutionFailed,
               str(title(), " waited for value ", wait.value,
                   " of an event whose command buffer failed: ", *poison));
}

void CommandBufferObject::execute() {
  PoolScope pool;
  kernelStartTime = seconds_now();
  set_status(MTL::CommandBufferStatusScheduled);
  run_handlers(scheduled_handlers);
  kernelEndTime = seconds_now();

  std::optional<Error> failure = first_violation();
  const std::vector<Ref<EventObject>> last_events = events_signalled_last();
  const size_t last_signals = steps_.size() - last_events.size();
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    if (i >= last_signals) std::get<Signal>(step).event->begin_settling();
    if (!failure) failure = run_step(step);
    if (!failure) continue;
    if (auto* signal = std::get_if<Signal>(&step)) {
      signal->event->poison(signal->value, failure->message());
    }
  }
  if (!failure) failure = first_violation();  // wrong calls after commit count too
  complete(failure);
  for (const Ref<EventObject>& event : last_events) event->end_settling();
}

std::vector<Ref<EventObject>> CommandBufferObject::events_signalled_last() const {
  std::vector<Ref<EventObject>> events;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const auto* signal = std::get_if<Signal>(&*step);
    if (!signal) break;
    events.push_back(signal->event);
  }
  return events;
}

void CommandBufferObject::complete(const std::optional<Error>& failure) {
  Ref<ErrorObject> error;
  if (failure) {
    error = make_error(kCommandBufferErrorDomain, error_code(failure->code()), failure->message());
    if (!encoder_infos_.empty()) {
      error->user_info->set(Ref<Object>(impl(MTL::CommandBufferEncoderInfoErrorKey)),
                            make_array(encoder_infos_));
    }
  }
  if (GPUStartTime == 0) {  // nothing ran: an empty span at this moment
    GPUStartTime = GPUEndTime = static_cast<double>(device().executor().timestamp_ns()) * 1e-9;
  }
  drop_steps();
  if (trace_) std::exchange(trace_, nullptr)->end_buffer();
  commandQueue->dismiss();
  {
    std::lock_guard lock(mutex_);
    error_ = std::move(error);
    status_ = failure ? MTL::CommandBufferStatusError : MTL::CommandBufferStatusCompleted;
    changed_.notify_all();
  }
  run_handlers(completed_handlers);
  std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

}  // namespace mlxn::rt
