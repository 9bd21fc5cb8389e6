// cumsum_{f32,f16,bf16}: the sums of a row's elements up to each one.
// Buffers: 0 input [rows, columns], 1 output, 2 CumsumArgs. Grid: one threadgroup for each row.
// Threadgroup memory 0: a float for each thread. In place is allowed: what a round reads only it
// writes. Added up in float, rounded once.
#include "mlxn/ops/common/row_kernel.h"
#include "mlxn/ops/reduce/reduce_args.h"

// Where a row's elements lie, counted from where the sums begin.
template <typename T, bool reverse>
struct Line {
  device const T* x;
  device T* y;
  uint columns;

  uint place(uint i) const { return reverse ? columns - 1 - i : i; }
  float value(uint i) const { return static_cast<float>(x[place(i)]); }
  void store(uint i, float sum) const { y[place(i)] = static_cast<T>(sum); }
};

// A round is kCumsumRun lines of neighbours, an element of each line for each thread. Sums within
// the lines of simdgroups first, then those of their totals in order.
template <typename Row>
inline void sums_of(Row row, bool exclusive, RowThreads threads) {
  const Place place = threads.place;
  const uint columns = row.columns, step = threads.step, first = threads.first;
  Accumulator carry = 0;
  for (uint begin = 0;;) {
    const uint left = columns - begin;
    const uint lines = min(kCumsumRun, (left - 1) / step + 1);
    float values[kCumsumRun];
    for (uint j = 0; j < lines; ++j) {
      const uint i = j * step + first;
      values[j] = i < left ? row.value(begin + i) : 0.0f;
    }
    for (uint j = 0; j < lines; ++j) {
      const float total = simd_sum(values[j]);
      if (place.lane == 0) threads.scratch[j * place.simdgroups + place.simdgroup] = total;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0; j < lines; ++j) {
      Accumulator before = carry;
      for (uint s = 0; s < place.simdgroups; ++s) {
        const float total = threads.scratch[j * place.simdgroups + s];
        before += s < place.simdgroup ? total : 0.0f;
        carry += total;
      }
      const float excluded = before + simd_prefix_exclusive_sum(values[j]);
      const uint i = j * step + first;
      if (i < left) row.store(begin + i, exclusive ? excluded : excluded + values[j]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (left <= step * kCumsumRun) return;
    begin += step * kCumsumRun;
  }
}

template <typename T>
[[kernel]] void cumsum(device const T* input [[buffer(0)]], device T* output [[buffer(1)]],
                       constant CumsumArgs& args [[buffer(2)]], MLXN_ROW_ARGUMENTS) {
  const uint columns = args.columns;
  const ulong row = static_cast<ulong>(group) * columns;
  const RowThreads threads = MLXN_ROW_THREADS;
  const bool exclusive = args.exclusive != 0;
  if (args.reverse) {
    sums_of(Line<T, true>{input + row, output + row, columns}, exclusive, threads);
  } else {
    sums_of(Line<T, false>{input + row, output + row, columns}, exclusive, threads);
  }
}

MLXN_KERNEL("cumsum_f32", cumsum, float);
MLXN_KERNEL("cumsum_f16", cumsum, half);
MLXN_KERNEL("cumsum_bf16", cumsum, bfloat);
