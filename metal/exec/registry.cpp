#include "metal/exec/cpu/cpu_executor.h"
#include "metal/exec/discrete/discrete_executor.h"
#include "metal/exec/null/null_executor.h"
#include "metal/rt/executor/executor_registry.h"

namespace mlxn::rt {
namespace {

cpu::MemoryGuard guard_of(uint32_t level) {
  return level == 0   ? cpu::MemoryGuard::kNone
         : level == 1 ? cpu::MemoryGuard::kStores
                      : cpu::MemoryGuard::kAll;
}

Result<cpu::CpuOptions> cpu_options_of(const ExecutorOptions& options) {
  cpu::CpuOptions cpu_options = cpu::options_from_settings();
  if (options.worker_count != 0) cpu_options.workers = options.worker_count;
  if (!options.cpu_target.empty()) cpu_options.target.cpu = options.cpu_target;
  cpu_options.dispatch_sampling = options.dispatch_sampling;
  if (options.schedule_seed != 0) cpu_options.schedule_seed = options.schedule_seed;
  if (options.watchdog_ms != 0) cpu_options.watchdog_ms = options.watchdog_ms;
  if (options.guard_memory != 0) cpu_options.guard = guard_of(options.guard_memory);
  cpu_options.reverse_threads = options.reverse_threads;
  MLXN_ASSIGN(cpu_options.forced_tier, cpu::choose_tier(options.forced_tier));
  if (!options.foreign_target) MLXN_TRY(cpu::check_target(cpu_options));
  return cpu_options;
}

Result<std::unique_ptr<Executor>> create_cpu(const ExecutorOptions& options) {
  MLXN_ASSIGN(const cpu::CpuOptions cpu_options, cpu_options_of(options));
  return Result<std::unique_ptr<Executor>>(cpu::create_executor(cpu_options));
}

Result<std::unique_ptr<Executor>> create_discrete(const ExecutorOptions& options) {
  MLXN_ASSIGN(const cpu::CpuOptions cpu_options, cpu_options_of(options));
  return discrete::create_executor(cpu_options);
}

Result<std::unique_ptr<Executor>> create_null(const ExecutorOptions& options) {
  return null::create_executor({.dispatch_sampling = options.dispatch_sampling});
}

}  // namespace

const std::vector<ExecutorEntry>& executors() {
  static const std::vector<ExecutorEntry> list = {
      {"cpu", true, create_cpu},
      {"null", false, create_null},
      {"discrete", false, create_discrete},
  };
  return list;
}

}  // namespace mlxn::rt
