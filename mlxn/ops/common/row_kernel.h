// MSL: the arguments of kernels that work on rows, a threadgroup on each.
#pragma once

#include "mlxn/ops/common/reduce.h"

// Behind a kernel's own arguments: dispatch_rows of ops/common/rows.h calls such kernels.
#define MLXN_ROW_ARGUMENTS                                                                        \
  threadgroup float *scratch [[threadgroup(0)]], uint group [[threadgroup_position_in_grid]],     \
      uint first [[thread_position_in_threadgroup]], uint step [[threads_per_threadgroup]],       \
      uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]], \
      uint simdgroups [[simdgroups_per_threadgroup]]
// What these arguments say, for functions of a kernel.
struct RowThreads {
  threadgroup float* scratch;
  uint first, step;  // elements of this thread: first, first + step, ...
  Place place;
};
#define MLXN_ROW_THREADS {scratch, first, step, MLXN_ROW_PLACE}
#define MLXN_ROW_PLACE          \
  Place {                       \
    lane, simdgroup, simdgroups \
  }

// Calls body(i) for i = first, first + step, ... below count. All threads go through the same full
// rounds, so that nothing in them depends on which thread it is; indices of 64 bits cannot wrap.
template <typename Body>
inline void for_each(uint count, uint first, uint step, thread Body& body) {
  const ulong full = count - count % step;
  for (ulong begin = 0; begin < full; begin += step) body(begin + first);
  if (full + first < count) body(full + first);
}
