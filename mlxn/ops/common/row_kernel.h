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
