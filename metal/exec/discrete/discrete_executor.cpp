#include "metal/exec/discrete/discrete_executor.h"

#include <atomic>
#include <random>
#include <thread>

#include "mlxn/base/strings.h"

namespace mlxn::discrete {
namespace {

// Private memory as the host sees it.
class HiddenMemory : public rt::Memory {
 public:
  explicit HiddenMemory(std::shared_ptr<rt::Memory> bytes) : bytes_(std::move(bytes)) {
    device_address = bytes_->device_address;
    size = bytes_->size;
    padding = bytes_->padding;
  }

 private:
  const std::shared_ptr<rt::Memory> bytes_;
};

using RoundTrips = std::shared_ptr<std::atomic<uint64_t>>;

// One thread is the device: it never waits for callbacks, which another one makes.
class DiscreteStream : public rt::Stream {
 public:
  DiscreteStream(host::HostExecutor& kernels, RoundTrips round_trips, uint64_t seed)
      : kernels_(kernels), round_trips_(std::move(round_trips)), random_(seed) {}

  void submit(rt::Submission& submission) override {
    device_.post([this, &submission] { run(submission); });
  }
  void help(const std::function<bool()>&) override {}
  bool is_current() const override { return callbacks_.is_current() || device_.is_current(); }

 private:
  void run(rt::Submission& submission) {
    callbacks_.post([&submission] { submission.started(); });
    delay();
    host::StepsResult result = host::run_steps(submission, kernels_);
    round_trips_->fetch_add(result.host_round_trips, std::memory_order_relaxed);
    delay();
    // The stream may be gone as soon as this is posted.
    callbacks_.post([&submission, result = std::move(result)] {
      submission.completed(result.status, result.times);
    });
  }

  // Three times out of four none, so that both a busy and an idle host are met.
  void delay() {
    constexpr uint64_t kLongestUs = 200;
    const uint64_t draw = random_() % (4 * kLongestUs);
    if (draw < kLongestUs) std::this_thread::sleep_for(std::chrono::microseconds(draw));
  }

  host::HostExecutor& kernels_;
  const RoundTrips round_trips_;
  std::mt19937_64 random_;  // used by the device alone
  rt::SerialWorker callbacks_;
  rt::SerialWorker device_;  // ends first
};

class DiscreteExecutor : public rt::Executor {
 public:
  explicit DiscreteExecutor(const cpu::CpuOptions& options)
      : kernels_(cpu::create_executor(options)),
        info_(kernels_->info()),
        seed_(options.schedule_seed) {
    info_.name = "mlxn discrete device";
    info_.executor = "discrete";
    info_.unified_memory = false;
  }

  const rt::DeviceInfo& info() const override { return info_; }

  Result<std::shared_ptr<rt::Memory>> allocate(uint64_t size, rt::Storage storage) override {
    MLXN_ASSIGN(auto memory, kernels_->allocate(size, storage));
    if (storage == rt::Storage::kPrivate)
      memory = std::make_shared<HiddenMemory>(std::move(memory));
    return memory;
  }
  Result<std::shared_ptr<rt::Memory>> wrap(void*, uint64_t size) override {
    return Error(
        ErrorCode::kUnsupported,
        str("cannot wrap ", size, " bytes: this device does not reach memory of the host"));
  }
  Result<std::shared_ptr<rt::Pipeline>> load(const std::string& kernel, const rt::Size3& required,
                                             rt::CompileKernel compile) override {
    return kernels_->load(kernel, required, std::move(compile));
  }
  std::unique_ptr<rt::Stream> create_stream() override {
    const uint64_t number = streams_.fetch_add(1, std::memory_order_relaxed);
    return std::make_unique<DiscreteStream>(*kernels_, round_trips_, seed_ + number);
  }
  std::unique_ptr<rt::Event> create_event() override { return kernels_->create_event(); }
  uint64_t timestamp_ns() const override { return kernels_->timestamp_ns(); }
  uint64_t allocated_bytes() const override { return kernels_->allocated_bytes(); }
  uint64_t host_round_trips() const override { return *round_trips_; }

 private:
  const std::unique_ptr<host::HostExecutor> kernels_;
  rt::DeviceInfo info_;
  const uint64_t seed_;
  std::atomic<uint64_t> streams_{1};
  const RoundTrips round_trips_ = std::make_shared<std::atomic<uint64_t>>(0);
};

}  // namespace

std::unique_ptr<rt::Executor> create_executor(const cpu::CpuOptions& options) {
  return std::make_unique<DiscreteExecutor>(options);
}

}  // namespace mlxn::discrete
