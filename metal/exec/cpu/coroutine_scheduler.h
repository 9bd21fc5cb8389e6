#pragma once

#include <cstdint>

#include "metal/msl/kernel_abi.h"
#include "mlxn/base/result.h"

namespace mlxn::cpu {

// Runs all threads of one threadgroup of a coroutine kernel to their end, by the divergence rule of
// kernel_abi.h: threads are started in order, a simdgroup goes on until each of its lanes is done
// or waits at a threadgroup barrier, then the barrier opens. group.frames and group.simdgroups must
// hold the group's threads. Fails with kExecutionFailed when a thread stops in a state the rule
// does not know; the message names thread and site.
Status run_coroutines(MslThreadEntry entry, uint64_t frame_bytes, const MslDispatch& dispatch,
                      MslThreadgroup& group);

}  // namespace mlxn::cpu
