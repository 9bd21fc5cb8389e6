// softmax_{f32,f16,bf16}: output = exp(input - max) / sum(exp(input - max)), row by row.
// Buffers: 0 input [rows, columns], 1 output, 2 SoftmaxArgs. Grid: one threadgroup for each row.
// Threadgroup memory 0: a float for each thread. Computed in float, rounded once. In place is
// allowed. A row of -infinity alone gives NaN.
#include "mlxn/ops/common/reduce.h"
#include "mlxn/ops/softmax/softmax_args.h"

template <typename T>
[[kernel]] void softmax(device const T* input [[buffer(0)]], device T* output [[buffer(1)]],
                        constant SoftmaxArgs& args [[buffer(2)]],
                        threadgroup float* scratch [[threadgroup(0)]],
                        uint group [[threadgroup_position_in_grid]],
                        uint first [[thread_position_in_threadgroup]],
                        uint threads [[threads_per_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]],
                        uint simdgroups [[simdgroups_per_threadgroup]]) {
  const Place place = {lane, simdgroup, simdgroups};
  device const T* x = input + static_cast<ulong>(group) * args.columns;
  device T* y = output + static_cast<ulong>(group) * args.columns;

  float most = -INFINITY;
  for (uint i = first; i < args.columns; i += threads) most = max(most, static_cast<float>(x[i]));
  most = threadgroup_max(most, scratch, place);

  Accumulator total = 0;
  for (uint i = first; i < args.columns; i += threads)
    total += exp(static_cast<float>(x[i]) - most);
  total = threadgroup_sum(total, scratch, place);

  for (uint i = first; i < args.columns; i += threads) {
    y[i] = static_cast<T>(exp(static_cast<float>(x[i]) - most) / total);
  }
}

MLXN_KERNEL("softmax_f32", softmax, float);
MLXN_KERNEL("softmax_f16", softmax, half);
MLXN_KERNEL("softmax_bf16", softmax, bfloat);
