#include "metal/exec/cpu/cpu_executor.h"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "metal/exec/cpu/cpu_memory.h"
#include "metal/exec/cpu/cpu_pipeline.h"
#include "metal/exec/cpu/cpu_target.h"
#include "metal/exec/cpu/list_runner.h"
#include "metal/exec/cpu/permutation.h"
#include "metal/exec/cpu/target_levels.h"
#include "metal/exec/cpu/watchdog.h"
#include "metal/exec/cpu/worker_pool.h"
#include "mlxn/base/clock.h"
#include "mlxn/base/settings.h"
#include "mlxn/base/strings.h"

namespace mlxn::cpu {
namespace {

constexpr uint32_t kMaxWorkers = 1024;
constexpr int64_t kMaxWatchdogMs = 1'000'000'000;

// Cores this process may use.
uint32_t core_count() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return static_cast<uint32_t>(CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

rt::DeviceInfo describe(const CpuOptions& options) {
  rt::DeviceInfo info;
  info.name = processor_name();
  info.executor = "cpu";
  info.total_memory = physical_memory();
  info.max_buffer_length = info.total_memory;
  info.worker_count = std::min(options.workers != 0 ? options.workers : core_count(), kMaxWorkers);
  info.dispatch_sampling = options.dispatch_sampling;
  info.guards_memory = options.guard != MemoryGuard::kNone;
  info.target = options.target.cpu.empty() ? detect_target() : target_of(options.target.cpu);
  info.other_targets = plain_levels(info.target);
  info.usual_code.target = info.target;
  info.usual_code.forced_tier = options.forced_tier;
  return info;
}

class CpuExecutor : public host::HostExecutor {
 public:
  explicit CpuExecutor(const CpuOptions& options)
      : info_(describe(options)),
        runs_target_(check_target(options)),
        account_(std::make_shared<std::atomic<uint64_t>>(0)),
        guard_(options.guard),
        schedule_seed_(options.schedule_seed),
        code_options_{info_.target, options.forced_tier,
                      options.reverse_threads ? ThreadOrder::kDescending : ThreadOrder::kAscending},
        watchdog_(options.watchdog_ms ? std::make_unique<Watchdog>(options.watchdog_ms) : nullptr),
        pool_(info_.worker_count, options.spin_us, options.guard) {}

  const rt::DeviceInfo& info() const override { return info_; }

  // Memory is unified: both storage modes are the same bytes here.
  Result<std::shared_ptr<rt::Memory>> allocate(uint64_t size, rt::Storage) override {
    return allocate_memory(size, {.limit = info_.max_buffer_length, .guard = guard_}, account_);
  }
  Result<std::shared_ptr<rt::Memory>> wrap(void* host, uint64_t size) override {
    return wrap_memory(host, size);
  }
  Result<std::shared_ptr<rt::Pipeline>> load(const std::string& kernel, const rt::Size3& required,
                                             rt::CompileKernel compile) override {
    return CpuPipeline::load(kernel, required, code_options_, std::move(compile));
  }
  Status run(const rt::CommandList& list, rt::RunTimes& times) override {
    MLXN_TRY(runs_target_);
    times.start_ns = now_ns();
    Watchdog::Watch watch(watchdog_.get());
    RunOptions options = next_options();
    options.stop = watch.flag();
    options.limit_ms = watchdog_ ? watchdog_->limit_ms() : 0;
    Status status = run_list(list, pool_, options);
    times.end_ns = now_ns();
    return status;
  }
  uint64_t timestamp_ns() const override { return now_ns(); }
  uint64_t allocated_bytes() const override { return account_->load(std::memory_order_relaxed); }

 private:
  // Others for each list, the same ones for each run of a program.
  RunOptions next_options() {
    const uint64_t number = lists_.fetch_add(1, std::memory_order_relaxed);
    if (schedule_seed_ == 0) return {.phase = number};
    return {.seed = std::max<uint64_t>(1, mix(schedule_seed_, number)), .phase = number};
  }

  const rt::DeviceInfo info_;
  const Status runs_target_;
  const Account account_;
  const MemoryGuard guard_;
  const uint64_t schedule_seed_;
  const CodeOptions code_options_;
  std::atomic<uint64_t> lists_{0};
  const std::unique_ptr<Watchdog> watchdog_;  // null: none
  WorkerPool pool_;
};

}  // namespace

CpuOptions options_from_settings() {
  auto clamped = [](Setting id, int64_t high) {
    return static_cast<uint32_t>(std::clamp<int64_t>(setting_int(id), 0, high));
  };
  CpuOptions options;
  options.workers = clamped(Setting::kCpuWorkers, kMaxWorkers);
  options.spin_us = clamped(Setting::kCpuSpinUs, 1'000'000);
  options.schedule_seed = static_cast<uint64_t>(setting_int(Setting::kScheduleSeed));
  options.watchdog_ms = clamped(Setting::kWatchdogMs, kMaxWatchdogMs);
  options.guard = static_cast<MemoryGuard>(clamped(Setting::kGuardMemory, 2));
  options.target.cpu = setting_string(Setting::kCpuTarget);
  return options;
}

Status check_target(const CpuOptions& options) {
  if (options.target.cpu.empty()) return {};
  return check_level(options.target.cpu, detect_target());
}

Result<int> choose_tier(int64_t option) {
  constexpr int kHighest = static_cast<int>(msl::Tier::kCoroutine);
  const bool own = option != -1;
  const int64_t tier = own ? option : setting_int(Setting::kCpuTier);
  if (tier >= -1 && tier <= kHighest) return static_cast<int>(tier);
  return Error(ErrorCode::kInvalidArgument,
               str(own ? "option forced_tier" : "setting cpu_tier", " is ", tier,
                   ", expected 0 to ", kHighest, ", or -1"));
}

std::unique_ptr<host::HostExecutor> create_executor(const CpuOptions& options) {
  return std::make_unique<CpuExecutor>(options);
}

}  // namespace mlxn::cpu
