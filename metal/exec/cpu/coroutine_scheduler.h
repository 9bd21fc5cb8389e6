#pragma once

#include <cstdint>

#include "metal/msl/kernel_abi.h"
#include "mlxn/base/result.h"

namespace mlxn::cpu {

// The order in which threads that may run take their turn, and simdgroups likewise. A kernel whose
// result depends on it has a race.
enum class ThreadOrder : uint8_t { kAscending, kDescending };

// Runs all threads of one threadgroup of a coroutine kernel to their end, by the divergence rule of
// kernel_abi.h: threads are started in the given order, a simdgroup goes on until each of its lanes
// is done or waits at a threadgroup barrier, then the barrier opens. group.frames and
// group.simdgroups must hold the group's threads. Fails with kExecutionFailed when a thread stops
// in a state the rule does not know; the message names thread and site.
Status run_coroutines(MslThreadEntry entry, uint64_t frame_bytes, const MslDispatch& dispatch,
                      MslThreadgroup& group, ThreadOrder order = ThreadOrder::kAscending);

}  // namespace mlxn::cpu
