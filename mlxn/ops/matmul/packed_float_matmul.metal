// packed_float_matmul_{1,4,8,16}_{f32,f16,bf16}: output[m][n] = sum over k of input[m][k] *
// weights[n][k], for a tile of 1, 4, 8 or 16 rows m at once. Buffers: 0 weights in the layout of
// packed_rows.h, 1 input [rows, depth], 2 output [rows, columns], 3 PackedFloatMatmulArgs. Grid:
// threadgroups of 64 threads, (tiles, columns / 64).
//
// A thread makes one column. The products of 32 elements are added up in order, each rounded once,
// and so are these sums. Chains of 32 are short enough for a processor to work on several of them
// at once.
#include "mlxn/base/weight_formats.h"
#include "mlxn/ops/matmul/packed_float_matmul_args.h"
#include "mlxn/ops/matmul/packed_product.h"

constant constexpr uint kPiece = 32, kStep = 8;

// A column of the weights and M rows of the input, all at the element that comes next.
template <typename T, uint M>
struct FloatReader {
  device const T* weights;
  device const float* rows[M];

  // Adds the products of N elements and moves on.
  template <uint N>
  void add(thread Accumulator (&sums)[M]) {
    float column[N];
#pragma unroll
    for (uint i = 0; i < N; ++i) {
      column[i] = static_cast<float>(weights[i * mlxn::quant::kPackedRows]);
    }
    weights += N * mlxn::quant::kPackedRows;
#pragma unroll
    for (uint m = 0; m < M; ++m) {
#pragma unroll
      for (uint i = 0; i < N; ++i) sums[m] = fma(column[i], rows[m][i], sums[m]);
      rows[m] += N;
    }
  }
};

template <typename T, uint M>
[[kernel, max_total_threads_per_threadgroup(kPackedColumns)]] void packed_float_matmul(
    device const T* weights [[buffer(0)]], device const float* input [[buffer(1)]],
    device float* output [[buffer(2)]], constant PackedFloatMatmulArgs& args [[buffer(3)]],
    uint2 group [[threadgroup_position_in_grid]],
    uint2 thread_index [[thread_position_in_threadgroup]]) {
  const PackedPlace place(group.y, thread_index.x);
  const uint sets = (args.columns + mlxn::quant::kPackedRows - 1) / mlxn::quant::kPackedRows;
  const uint units = (args.depth + mlxn::quant::kFloatUnit - 1) / mlxn::quant::kFloatUnit;
  // Past the last set and the last row these are taken again.
  FloatReader<T, M> reader;
  reader.weights = weights + place.lane +
                   static_cast<ulong>(min(place.set, sets - 1)) * units *
                       (mlxn::quant::kFloatUnit * mlxn::quant::kPackedRows);
#pragma unroll
  for (uint m = 0; m < M; ++m) {
    reader.rows[m] = input + static_cast<ulong>(min(group.x * M + m, args.rows - 1)) * args.depth;
  }
  Accumulator sums[M] = {};
  for (uint rest = args.depth; rest != 0;) {
    uint now = min(rest, kPiece);
    rest -= now;
    Accumulator piece[M] = {};
    for (; now >= kStep; now -= kStep) reader.template add<kStep>(piece);
    for (; now != 0; --now) reader.template add<1>(piece);
#pragma unroll
    for (uint m = 0; m < M; ++m) sums[m] += piece[m];
  }
  store_products<M>(sums, output, args, group.x, place);
}

#define MLXN_ENTRY(format, type, ...)                                          \
  MLXN_KERNEL("packed_float_matmul_1_" #format, packed_float_matmul, type, 1); \
  MLXN_KERNEL("packed_float_matmul_4_" #format, packed_float_matmul, type, 4); \
  MLXN_KERNEL("packed_float_matmul_8_" #format, packed_float_matmul, type, 8); \
  MLXN_KERNEL("packed_float_matmul_16_" #format, packed_float_matmul, type, 16);
MLXN_EACH_FLOAT_FORMAT(MLXN_ENTRY)
