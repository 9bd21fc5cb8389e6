// cumsum_{f32,f16,bf16}: the sums of a row's elements up to each one.
// Buffers: 0 input [rows, columns], 1 output, 2 CumsumArgs. Grid: one threadgroup for each row.
// Threadgroup memory 0: a float for each thread. In place is allowed: what a round reads only it
// writes. Added up in float, rounded once.
#include "mlxn/ops/common/row_kernel.h"
#include "mlxn/ops/reduce/reduce_args.h"

template <typename T>
[[kernel]] void cumsum(device const T* input [[buffer(0)]], device T* output [[buffer(1)]],
                       constant CumsumArgs& args [[buffer(2)]], MLXN_ROW_ARGUMENTS) {
  const uint columns = args.columns;
  const ulong row = static_cast<ulong>(group) * columns;
  device const T* x = input + row;
  device T* y = output + row;
  Accumulator carry = 0;
  for (uint begin = 0;;) {
    // Each thread adds up its own elements, then all their totals.
    const ulong own = static_cast<ulong>(begin) + first * kCumsumRun;
    float values[kCumsumRun];
    Accumulator total = 0;
#pragma unroll
    for (uint j = 0; j < kCumsumRun; ++j) {
      const ulong i = own + j;
      values[j] = i < columns ? static_cast<float>(x[args.reverse ? columns - 1 - i : i]) : 0.0f;
      total += values[j];
    }
    float before = simd_prefix_exclusive_sum(static_cast<float>(total));
    const float all = simd_sum(static_cast<float>(total));
    if (lane == 0) scratch[simdgroup] = all;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float round = 0;
    for (uint s = 0; s < simdgroups; ++s) {
      if (s < simdgroup) before += scratch[s];
      round += scratch[s];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    Accumulator running = carry + before;
#pragma unroll
    for (uint j = 0; j < kCumsumRun; ++j) {
      const ulong i = own + j;
      const float excluded = running;
      running += values[j];
      const float result = args.exclusive ? excluded : static_cast<float>(running);
      if (i < columns) y[args.reverse ? columns - 1 - i : i] = static_cast<T>(result);
    }
    carry += round;
    if (columns - begin <= step * kCumsumRun) return;
    begin += step * kCumsumRun;
  }
}

MLXN_KERNEL("cumsum_f32", cumsum, float);
MLXN_KERNEL("cumsum_f16", cumsum, half);
MLXN_KERNEL("cumsum_bf16", cumsum, bfloat);
