// The executor that runs kernels on the host's cores.
#pragma once

#include <cstdint>
#include <memory>

#include "metal/exec/cpu/guarded_block.h"
#include "metal/exec/host/host_stream.h"

namespace mlxn::cpu {

struct CpuOptions {
  uint32_t workers = 0;  // threads that run kernels, the caller included; 0: one for each core
  bool dispatch_sampling = true;  // whether timestamps between dispatches are offered
  uint32_t spin_us = 50;          // how long an idle worker spins before it sleeps
  uint64_t schedule_seed = 0;     // not 0: what runs between two barriers is shuffled
  // Coroutine tier: threads and simdgroups take their turns in descending order.
  bool reverse_threads = false;
  int forced_tier = -1;      // lowest tier of kernels, 0 to 3; -1: the compiler chooses
  uint32_t watchdog_ms = 0;  // lists that run longer fail; 0: no limit
  MemoryGuard guard = MemoryGuard::kNone;  // of buffers and threadgroup memory
  // Code to accept: a level of x86-64; an empty cpu name means detect_target().
  msl::Target target;
};

// Options with every field taken from the settings table.
CpuOptions options_from_settings();

// Whether this machine runs code for the target.
Status check_target(const CpuOptions& options);
// The tier of a device's option, or for -1 of the setting; fails when there is no such tier.
Result<int> choose_tier(int64_t option);

// Never null. Runs nothing when check_target fails; pipelines can be made all the same. Threads
// start here and end with the executor; memory and pipelines may outlive it.
std::unique_ptr<host::HostExecutor> create_executor(const CpuOptions& options);

}  // namespace mlxn::cpu
