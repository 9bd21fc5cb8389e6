// matmul_{1,4,8}_{format}: output[m][n] = sum over k of input[m][k] * weights[n][k], for 1, 4 or 8
// rows m at once.
// Buffers: 0 weights [columns, depth] in the format, 1 input [rows, depth], 2 output [rows,
// columns], 3 MatmulArgs. Grid: threadgroups of 32 threads, (columns / 4, rows / rows at once).
//
// Weights of four columns are unpacked chunk by chunk into threadgroup memory, 16 elements by each
// thread; then thread t multiplies elements t, t + 32, ... of the chunk. Each result has two sums a
// thread, for even and odd steps, that are added up in the end: its bits depend neither on other
// rows nor on how many rows are taken at once.
#include "mlxn/ops/common/weights.h"
#include "mlxn/ops/matmul/matmul_args.h"

constant constexpr uint kLanes = 32, kPiece = 16, kChunk = kPiece * kLanes, kColumns = 4;

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
  float even[M] = {0}, odd[M] = {0};
};

// Adds the products of a chunk of one column that begins at element `begin`.
template <uint M>
inline void add_chunk(thread Sums<M>& sums, threadgroup const float* weights,
                      thread const InputRows<M>& rows, uint begin) {
  for (uint i = 0; i < kChunk; i += 2 * kLanes) {
    for (uint m = 0; m < M; ++m) {
      sums.even[m] = fma(weights[i], rows.of[m][begin + i], sums.even[m]);
      sums.odd[m] = fma(weights[i + kLanes], rows.of[m][begin + i + kLanes], sums.odd[m]);
    }
  }
}

// The same for the last chunk, with `length` elements from this thread's first one on.
template <uint M>
inline void add_tail(thread Sums<M>& sums, threadgroup const float* weights,
                     thread const InputRows<M>& rows, uint begin, uint lane, uint length) {
  for (uint i = 0; i < length; i += 2 * kLanes) {
    const bool even = i + lane < length, odd = i + kLanes + lane < length;
    for (uint m = 0; m < M; ++m) {
      if (even) sums.even[m] = fma(weights[i], rows.of[m][begin + i], sums.even[m]);
      if (odd) sums.odd[m] = fma(weights[i + kLanes], rows.of[m][begin + i + kLanes], sums.odd[m]);
    }
  }
}

template <typename W, uint M>
[[kernel]] void matmul(device const W* weights [[buffer(0)]],
                       device const float* input [[buffer(1)]], device float* output [[buffer(2)]],
                       constant MatmulArgs& args [[buffer(3)]],
                       uint2 group [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float chunks[kColumns * kChunk];
  const uint first_column = group.x * kColumns, first_row = group.y * M, depth = args.depth;
  const InputRows<M> rows(input, args, first_row, lane);
  Sums<M> sums[kColumns];
  for (uint begin = 0; begin < depth; begin += kChunk) {
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint c = 0; c < kColumns; ++c) {
      const uint column = min(first_column + c, args.columns - 1);
      device const W* row = Format<W>::row(weights, column, depth);
      if (begin + lane * kPiece < depth) {
        Format<W>::unpack(row, begin / kPiece + lane, depth, chunks + c * kChunk + lane * kPiece);
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint c = 0; c < kColumns; ++c) {
      threadgroup const float* chunk = chunks + c * kChunk + lane;
      if (begin + kChunk <= depth) {
        add_chunk(sums[c], chunk, rows, begin);
      } else {
        add_tail(sums[c], chunk, rows, begin, lane, depth - begin);
      }
    }
  }
  for (uint c = 0; c < kColumns; ++c) {
    for (uint m = 0; m < M; ++m) {
      const float total = simd_sum(sums[c].even[m] + sums[c].odd[m]);
      const uint row = first_row + m, column = first_column + c;
      if (lane == 0 && row < args.rows && column < args.columns) {
        output[static_cast<ulong>(row) * args.columns + column] = total;
      }
    }
  }
}

#define MLXN_ENTRY(format, type)                     \
  MLXN_KERNEL("matmul_1_" #format, matmul, type, 1); \
  MLXN_KERNEL("matmul_4_" #format, matmul, type, 4); \
  MLXN_KERNEL("matmul_8_" #format, matmul, type, 8)
MLXN_EACH_WEIGHT_FORMAT(MLXN_ENTRY);
