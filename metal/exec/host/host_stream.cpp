#include "metal/exec/host/host_stream.h"

#include "metal/exec/host/host_event.h"
#include "mlxn/base/strings.h"

namespace mlxn::host {
namespace {

class StepRunner {
 public:
  StepRunner(const rt::Submission& submission, HostExecutor& executor)
      : submission_(submission), executor_(executor) {}

  Status run(const rt::WaitStep& step) {
    if (step.event->value() < step.value) {
      step.event->wait(step.value, {});
      const auto* own = dynamic_cast<const HostEvent*>(step.event);
      host_round_trips += !own || own->is_set_to(step.value);
    }
    const auto poison = step.event->poison_at(step.value);
    if (!poison) return {};
    return Error(ErrorCode::kExecutionFailed,
                 str(submission_.title(), " waited for value ", step.value,
                     " of an event whose command buffer failed: ", *poison));
  }
  Status run(const rt::SignalStep& step) {
    step.event->signal(step.value);
    return {};
  }
  Status run(const rt::ListStep& step) {
    rt::RunTimes own;
    Status status = executor_.run(*step.list, own);
    if (times.start_ns == 0) times.start_ns = own.start_ns;
    if (own.end_ns != 0) times.end_ns = own.end_ns;
    return status;
  }
  Status run(const rt::HostStep& step) {
    ++host_round_trips;
    return step.function();
  }

  rt::RunTimes times;
  uint64_t host_round_trips = 0;

 private:
  const rt::Submission& submission_;
  HostExecutor& executor_;
};

class HostStream : public rt::Stream {
 public:
  explicit HostStream(HostExecutor& executor) : executor_(executor) {}

  void submit(rt::Submission& submission) override {
    // Two pointers, so that the worker's function needs no memory of its own.
    worker_.post([&executor = executor_, &submission] {
      submission.started();
      StepsResult result = run_steps(submission, executor);
      submission.completed(std::move(result.status), result.times);
    });
  }
  void help(const std::function<bool()>& done) override { worker_.help(done); }
  bool is_current() const override { return worker_.is_current(); }

 private:
  HostExecutor& executor_;
  rt::SerialWorker worker_;
};

}  // namespace

StepsResult run_steps(const rt::Submission& submission, HostExecutor& executor) {
  StepRunner runner(submission, executor);
  Status status = submission.accepted;
  for (const rt::Step& step : submission.steps) {
    if (status) status = std::visit([&](const auto& one) { return runner.run(one); }, step);
    const auto* signal = std::get_if<rt::SignalStep>(&step);
    if (status || !signal) continue;
    signal->event->poison(signal->value, status.error().message());
  }
  return {std::move(status), runner.times, runner.host_round_trips};
}

std::unique_ptr<rt::Stream> HostExecutor::create_stream() {
  return std::make_unique<HostStream>(*this);
}

std::unique_ptr<rt::Event> HostExecutor::create_event() {
  return std::make_unique<HostEvent>();
}

}  // namespace mlxn::host
