#pragma once

#include "metal/exec/cpu/kernel_guard.h"
#include "metal/exec/cpu/worker_pool.h"
#include "metal/rt/executor/executor.h"

namespace mlxn::cpu {

struct RunOptions {
  uint64_t seed = 0;               // not 0: shuffles what runs between two barriers
  const StopFlag* stop = nullptr;  // set: the list ends with kTimeout
  uint32_t limit_ms = 0;           // why it is set, for the error
  uint64_t phase = 0;              // another one for each list spreads which dispatches are timed
};

// Runs a command list to its end on the calling thread and the pool's workers. Commands between two
// barriers share the workers; results do not depend on how many there are. The error of the
// earliest failing command comes back; commands after it may not have run.
Status run_list(const rt::CommandList& list, WorkerPool& pool, const RunOptions& options = {});

}  // namespace mlxn::cpu
