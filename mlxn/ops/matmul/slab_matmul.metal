// slab_matmul_{1,8}_{format}: output[r][n] = alpha * sum over k of input[r / share][k] *
// weights[slab of r][n][k] + bias, for 1 or 8 rows r at once. The slab of a row is its number by
// rows_of_slab, or its id; a row with a slab that is not there becomes zeros.
// Buffers: 0 input [batch, heads, rows, head_dim], 1 up, as the input, 2 ids [rows], 3 order
// [rows], 4 bias [slabs or 1, columns], 5 output [rows, columns], 6 SlabMatmulArgs, 7 weights
// [slabs, columns, depth] in the format. Those that the arguments do not speak of may be anything.
// Grid: threadgroups of 128 threads, (columns / 4, rows / rows at once).
//
// slab_matmul_across_{1,8}_{f32,f16,bf16}: the same with weights [slabs, depth, columns]. Grid:
// threadgroups of 128 threads, (columns / 128, rows / rows at once).
//
// Computed in float and rounded once.
#include "mlxn/ops/common/weights.h"
#include "mlxn/ops/matmul/slab_product.h"

template <typename W>
struct WeightRow {
  device const W* row;

  void unpack(uint group, uint depth, threadgroup float* values) const {
    Format<W>::unpack(row, group, depth, values);
  }
  void unpack_chunk(uint begin, uint depth, threadgroup float* chunk, uint lane) const {
    unpack_in_groups(*this, begin, depth, chunk, lane);
  }
};

// Floats need no unpacking: neighbouring threads take neighbouring ones.
template <typename T>
struct FloatRow {
  device const T* row;

  void unpack_chunk(uint begin, uint depth, threadgroup float* chunk, uint lane) const {
    device const T* from = row + begin;
    if (begin + kChunk <= depth) {
#pragma unroll
      for (uint i = 0; i < kChunk; i += kLanes) {
        (chunk + i)[lane] = static_cast<float>((from + i)[lane]);
      }
      return;
    }
    const uint length = depth - begin;
    for (uint i = 0; i < (length + kStep - 1) / kStep * kStep; i += kLanes) {
      float value = 0;
      if (i + lane < length) value = static_cast<float>((from + i)[lane]);
      (chunk + i)[lane] = value;
    }
  }
};
template <>
struct WeightRow<float> : FloatRow<float> {};
template <>
struct WeightRow<half> : FloatRow<half> {};
template <>
struct WeightRow<bfloat> : FloatRow<bfloat> {};

template <typename W>
struct WeightTensor {
  device const W* weights;
  WeightRow<W> row(ulong index, constant SlabMatmulArgs& args) const {
    WeightRow<W> out;
    out.row = Format<W>::row(weights, index, args.depth);
    return out;
  }
};

template <typename W, uint M>
[[kernel, max_total_threads_per_threadgroup(kSlabLanes* kSlabColumns)]] void slab_matmul(
    device const W* weights [[buffer(7)]], MLXN_SLAB_ARGUMENTS) {
  threadgroup float values[M * kChunk], chunks[kSlabColumns * kChunk];
  const SlabBuffers buffers = {input, up, ids, order, bias, output};
  const WeightTensor<W> tensor = {weights};
  slab_product<M>(buffers, tensor, args, values, chunks, group, lane, simdgroup);
}

constant constexpr uint kAcrossChunk = 128, kPiece = 32, kAtOnce = 8;

// Products of a thread's column with rows that are staged. Those of 32 elements are added up in
// order, and so are these sums. Whole: there is a column for every thread.
template <bool Whole, typename W, uint M>
inline void add_across(thread Accumulator (&sums)[M], device const W* weights, uint columns,
                       threadgroup const float* values, uint length, bool inside) {
  for (uint from = 0; from < length; from += kPiece) {
    Accumulator piece[M];
#pragma unroll
    for (uint m = 0; m < M; ++m) piece[m] = 0.0f;
    uint i = from;
    const uint end = min(from + kPiece, length);
    for (; i + kAtOnce <= end; i += kAtOnce) {
      float column[kAtOnce];
#pragma unroll
      for (uint j = 0; j < kAtOnce; ++j) {
        column[j] = 0;
        if (Whole || inside) {
          column[j] = static_cast<float>(weights[static_cast<ulong>(i + j) * columns]);
        }
      }
#pragma unroll
      for (uint m = 0; m < M; ++m) {
#pragma unroll
        for (uint j = 0; j < kAtOnce; ++j) {
          piece[m] = fma(column[j], values[m * kAcrossChunk + i + j], piece[m]);
        }
      }
    }
    for (; i < end; ++i) {
      float weight = 0;
      if (Whole || inside) weight = static_cast<float>(weights[static_cast<ulong>(i) * columns]);
      for (uint m = 0; m < M; ++m) {
        piece[m] = fma(weight, values[m * kAcrossChunk + i], piece[m]);
      }
    }
#pragma unroll
    for (uint m = 0; m < M; ++m) sums[m] += piece[m];
  }
}

template <typename W, uint M>
[[kernel, max_total_threads_per_threadgroup(kSlabLanes* kSlabColumns)]] void slab_matmul_across(
    device const W* weights [[buffer(7)]], MLXN_SLAB_ARGUMENTS) {
  threadgroup float values[M * kAcrossChunk];
  const SlabBuffers buffers = {input, up, ids, order, bias, output};
  const uint first_column = (group.x * kSlabColumns + simdgroup) * kLanes;
  const uint column = first_column + lane;
  const uint first = group.y * M, last = min(first + M, args.rows);
  for (uint begin = first; begin < last;) {
    const uint slab = buffers.slab(args, buffers.row(args, begin));
    uint end = begin + 1;
    while (end < last && buffers.slab(args, buffers.row(args, end)) == slab) ++end;
    const SlabRows<M> rows(buffers, args, begin, end);
    device const W* from =
        weights + static_cast<ulong>(slab) * args.depth * args.columns + first_column;
    Accumulator sums[M];
#pragma unroll
    for (uint m = 0; m < M; ++m) sums[m] = 0.0f;
    for (uint k = 0; k < args.depth; k += kAcrossChunk) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      stage<M, kAcrossChunk>(buffers, rows, args, k, values, lane, simdgroup);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      device const W* chunk = from + static_cast<ulong>(k) * args.columns + lane;
      const uint length = min(kAcrossChunk, args.depth - k);
      if (first_column + kLanes <= args.columns) {
        add_across<true>(sums, chunk, args.columns, values, length, true);
      } else {
        add_across<false>(sums, chunk, args.columns, values, length, column < args.columns);
      }
    }
    for (uint m = 0; m < end - begin; ++m) {
      if (column < args.columns) {
        store_product(buffers, args, sums[m], buffers.row(args, begin + m), slab, column);
      }
    }
    begin = end;
  }
}

#define MLXN_ENTRY(format, type, ...)                          \
  MLXN_KERNEL("slab_matmul_1_" #format, slab_matmul, type, 1); \
  MLXN_KERNEL("slab_matmul_8_" #format, slab_matmul, type, 8);
MLXN_EACH_WEIGHT_FORMAT(MLXN_ENTRY)
#undef MLXN_ENTRY
#define MLXN_ENTRY(format, type, ...)                                        \
  MLXN_KERNEL("slab_matmul_across_1_" #format, slab_matmul_across, type, 1); \
  MLXN_KERNEL("slab_matmul_across_8_" #format, slab_matmul_across, type, 8);
MLXN_EACH_FLOAT_FORMAT(MLXN_ENTRY)
