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
  drop_works();
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
  if (steps.empty() || !std::holds_alternative<ListStep>(steps.back())) {
    works_.push_back(commandQueue->take_work(retainedReferences));
    steps.emplace_back(ListStep{&works_.back()->list});
  }
  return *works_.back();
}

void CommandBufferObject::drop_works() {
  for (std::unique_ptr<Work>& work : works_) commandQueue->give_back(std::move(work));
  works_.clear();
}

Work& CommandBufferObject::begin(EncoderObject* encoder) {
  open_encoder_ = encoder;
  Work& current = work();
  current.barrier();
  return current;
}

Work& CommandBufferObject::call_host(std::function<Status()> function) {
  steps.emplace_back(HostStep{std::move(function)});
  return work();
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
  events_.emplace_back(event);
  steps.emplace_back(SignalStep{event->event.get(), value});
}

void CommandBufferObject::encode_wait(EventObject* event, uint64_t value) {
  constexpr const char* kCall = "MTL::CommandBuffer::encodeWait";
  if (!can_encode(kCall)) return;
  if (!event) return violation(kCall, "null event, expected one");
  events_.emplace_back(event);
  steps.emplace_back(WaitStep{event->event.get(), value});
}

void CommandBufferObject::add_handler(
    const char* call, RecycledVector<MTL::HandlerFunction> CommandBufferObject::* list,
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
  prepare_steps();
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

void CommandBufferObject::run_handlers(RecycledVector<MTL::HandlerFunction>& handlers) {
  if (handlers.empty()) return;
  PoolScope pool;
  auto list = std::move(handlers);
  handlers.clear();
  for (auto& handler : list) handler(api(this));
}

// The memory and code behind such an object are kept, so that running is safe.
Status CommandBufferObject::check_released(const Work& work) const {
  const std::string gone = work.released();
  if (gone.empty()) return {};
  Error error(ErrorCode::kInvalidState, str(gone, " was released before the ", title(), " ran"));
  report("MTL::CommandBuffer", error.message());
  return error;
}

void CommandBufferObject::prepare_steps() {
  if (auto violation = first_violation()) accepted = *violation;
  for (const auto& work : works_) work->list.label = label.text();
  for_each_last_signal([](EventObject& event, uint64_t value) { event.begin_settling(value); });
  const bool checks = device().validates() && !retainedReferences;
  if (checks || trace_) add_host_steps(checks);
}

void CommandBufferObject::add_host_steps(bool checks) {
  RecycledVector<Step> all;
  auto work = works_.begin();
  for (Step& step : steps) {
    if (!std::holds_alternative<ListStep>(step)) {
      all.push_back(step);
      continue;
    }
    const Work& one = **work++;
    if (checks) all.emplace_back(HostStep{[this, &one] { return check_released(one); }});
    if (trace_) {
      all.emplace_back(HostStep{[this, &one] {
        begin_recorded(one);
        return Status();
      }});
    }
    all.push_back(step);
    if (!trace_) continue;
    all.emplace_back(HostStep{[this] {
      end_recorded();
      return Status();
    }});
  }
  steps = std::move(all);
}

void CommandBufferObject::begin_recorded(const Work& work) {
  trace_->begin_list(work, &work == works_.front().get());
  in_trace_ = true;
}

void CommandBufferObject::end_recorded() {
  in_trace_ = false;
  trace_->end_list();
}

template <class Function>
void CommandBufferObject::for_each_last_signal(Function function) const {
  auto event = events_.rbegin();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const auto* signal = std::get_if<SignalStep>(&*step);
    if (!signal) break;
    function(**event++, signal->value);
  }
}

void CommandBufferObject::submit(Ref<CommandBufferObject> buffer, Stream& stream) {
  CommandBufferObject& self = *buffer;
  self.submitted_ = std::move(buffer);
  stream.submit(self);
}

void CommandBufferObject::started() {
  kernelStartTime = seconds_now();
  set_status(MTL::CommandBufferStatusScheduled);
  run_handlers(scheduled_handlers);
  kernelEndTime = seconds_now();
}

void CommandBufferObject::completed(Status status, const RunTimes& times) {
  const Ref<CommandBufferObject> self = std::move(submitted_);
  PoolScope pool;  // for functions of the user's: deallocators and handlers
  GPUStartTime = static_cast<double>(times.start_ns) * 1e-9;
  GPUEndTime = static_cast<double>(times.end_ns) * 1e-9;
  // Wrong calls after commit count too.
  complete(status ? first_violation() : std::optional(std::move(status).error()));
  for_each_last_signal([](EventObject& event, uint64_t value) { event.end_settling(value); });
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
  if (in_trace_) end_recorded();
  drop_works();
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
