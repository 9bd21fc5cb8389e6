// MSL: one column of a product with weights in any format, for M rows of the input at once.
//
// A simdgroup makes one column. It unpacks the weights chunk by chunk into threadgroup memory, 32
// elements by each thread; then thread t multiplies elements t, t + 32, ... of the chunk. Each
// result has two sums a thread, for even and odd steps, that are added up in the end: its bits
// depend neither on other rows nor on how many rows are taken at once.
#pragma once

#include "mlxn/ops/common/weights.h"
#include "mlxn/ops/matmul/matmul_args.h"

constant constexpr uint kLanes = kMatmulLanes, kStep = 2 * kLanes, kChunk = 512;

// Rows of the input, each from this thread's first element on. Past the last row it is taken again.
template <uint M>
struct InputRows {
  device const float* of[M];

  InputRows(device const float* input, constant MatmulArgs& args, uint first, uint lane) {
    for (uint m = 0; m < M; ++m) {
      of[m] = input + static_cast<ulong>(min(first + m, args.rows - 1)) * args.depth + lane;
    }
  }
};

template <uint M>
struct Sums {
  Accumulator even[M] = {}, odd[M] = {};
};

// Adds the products of N steps; weights and rows begin at this thread's first element.
template <uint N, uint M>
inline void add_steps(thread Sums<M>& sums, threadgroup const float* weights,
                      thread const InputRows<M>& rows, uint begin) {
#pragma unroll
  for (uint i = 0; i < N * kStep; i += kStep) {
    for (uint m = 0; m < M; ++m) {
      sums.even[m] = fma(weights[i], rows.of[m][begin + i], sums.even[m]);
      sums.odd[m] = fma(weights[i + kLanes], rows.of[m][begin + i + kLanes], sums.odd[m]);
    }
  }
}

// The same for the `rest` elements, less than a step, with which a row ends.
template <uint M>
inline void add_rest(thread Sums<M>& sums, threadgroup const float* weights,
                     thread const InputRows<M>& rows, uint begin, uint rest, uint lane) {
  for (uint m = 0; m < M; ++m) {
    if (lane < rest) sums.even[m] = fma(weights[0], rows.of[m][begin], sums.even[m]);
    if (lane + kLanes < rest) {
      sums.odd[m] = fma(weights[kLanes], rows.of[m][begin + kLanes], sums.odd[m]);
    }
  }
}

// Unpacks up to kChunk weights of a row from `begin` on.
template <typename W>
inline void unpack_chunk(device const W* row, uint begin, uint depth, threadgroup float* chunk,
                         uint lane) {
  if (32 * lane < min(kChunk, depth - begin)) {
    Format<W>::unpack(row, begin / 32 + lane, depth, chunk + 32 * lane);
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
}

// The product of a row of weights with M rows of the input; thread m gets that of row m. `chunk` is
// the simdgroup's own; a barrier comes between two products that use it.
template <typename W, uint M>
inline float column_product(device const W* row, thread const InputRows<M>& rows, uint depth,
                            threadgroup float* chunk, uint lane) {
  threadgroup const float* own = chunk + lane;
  Sums<M> sums;
  uint begin = 0;
  for (; begin + kChunk <= depth; begin += kChunk) {
    unpack_chunk(row, begin, depth, chunk, lane);
    add_steps<kChunk / kStep>(sums, own, rows, begin);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (begin < depth) {
    unpack_chunk(row, begin, depth, chunk, lane);
    uint i = 0;
    for (; begin + i + kStep <= depth; i += kStep) add_steps<1>(sums, own + i, rows, begin + i);
    if (begin + i < depth) add_rest(sums, own + i, rows, begin + i, depth - begin - i, lane);
  }
  float result = 0;
  for (uint m = 0; m < M; ++m) {
    const float total = simd_sum(sums.even[m] + sums.odd[m]);
    result = lane == m ? total : result;
  }
  return result;
}
