// MSL: reductions over a threadgroup.
#pragma once

#include "mlxn/ops/common/kernel.h"

// Where a thread stands in its threadgroup.
struct Place {
  uint lane;        // thread_index_in_simdgroup
  uint simdgroup;   // simdgroup_index_in_threadgroup
  uint simdgroups;  // simdgroups_per_threadgroup
};

// Every thread gets the result; all threads of the threadgroup must call. `scratch` needs a float
// for each simdgroup and may be used again at once. The order of operations depends on the
// threadgroup's size alone.
inline float threadgroup_sum(float value, threadgroup float* scratch, Place place) {
  value = simd_sum(value);
  if (place.lane == 0) scratch[place.simdgroup] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float total = scratch[0];
  for (uint i = 1; i < place.simdgroups; ++i) total += scratch[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return total;
}

inline float threadgroup_max(float value, threadgroup float* scratch, Place place) {
  value = simd_max(value);
  if (place.lane == 0) scratch[place.simdgroup] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float most = scratch[0];
  for (uint i = 1; i < place.simdgroups; ++i) most = max(most, scratch[i]);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return most;
}
