#pragma once

#include "metal/exec/cpu/worker_pool.h"
#include "metal/rt/executor.h"

namespace mlxn::cpu {

// Runs a command list to its end on the calling thread and the pool's workers. Commands between two
// barriers share the workers; results do not depend on how many there are. The error of the
// earliest failing command comes back; commands after it may not have run. A seed other than 0
// shuffles what runs between two barriers.
Status run_list(const rt::CommandList& list, WorkerPool& pool, uint64_t seed = 0);

// The executor's clock.
uint64_t now_ns();

}  // namespace mlxn::cpu
