// argmax_f32: the lowest index of each row's largest element; NaN is never the largest.
// Buffers: 0 input [rows, dim], 1 indices [rows], 2 ArgmaxArgs, 3 values [rows], which are not
// touched without has_values. Grid: one threadgroup for each row.
// Threadgroup memory 0: a float for each thread. Two passes: the largest value first, then the
// lowest place where it stands, so that no pair of value and index has to be compared.
#include "mlxn/ops/common/reduce.h"
#include "mlxn/ops/sample/argmax_args.h"

[[kernel]] void argmax_f32(
    device const float* input [[buffer(0)]], device uint* indices [[buffer(1)]],
    constant ArgmaxArgs& args [[buffer(2)]], device float* values [[buffer(3)]],
    threadgroup float* scratch [[threadgroup(0)]], uint group [[threadgroup_position_in_grid]],
    uint first [[thread_position_in_threadgroup]], uint threads [[threads_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]]) {
  const Place place = {lane, simdgroup, simdgroups};
  device const float* x = input + static_cast<ulong>(group) * args.dim;
  float most = -INFINITY;
  for (uint i = first; i < args.dim; i += threads) most = x[i] > most ? x[i] : most;
  most = threadgroup_max(most, scratch, place);

  uint at = args.dim;
  for (uint i = first; i < args.dim; i += threads) at = x[i] == most ? min(at, i) : at;
  at = simd_min(at);
  threadgroup uint* lowest = reinterpret_cast<threadgroup uint*>(scratch);
  if (lane == 0) lowest[simdgroup] = at;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (first != 0) return;
  for (uint s = 1; s < simdgroups; ++s) at = min(at, lowest[s]);
  indices[group] = at < args.dim ? at : 0;  // none stands anywhere in a row of NaN alone
  if (args.has_values != 0) values[group] = most;
}
