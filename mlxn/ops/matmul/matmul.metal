// matmul_{1,4,8}_{format}: output[m][n] = sum over k of input[m][k] * weights[n][k], for 1, 4 or 8
// rows m at once.
// Buffers: 0 weights [columns, depth] in the format, 1 input [rows, depth], 2 output [rows,
// columns], 3 MatmulArgs. Grid: threadgroups of 128 threads, (columns / 4, rows / rows at once).
#include "mlxn/ops/matmul/column_product.h"

template <typename W, uint M>
[[kernel, max_total_threads_per_threadgroup(kMatmulLanes* kMatmulColumns)]] void matmul(
    device const W* weights [[buffer(0)]], device const float* input [[buffer(1)]],
    device float* output [[buffer(2)]], constant MatmulArgs& args [[buffer(3)]],
    uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float chunks[kMatmulColumns * kChunk];
  const uint column = group.x * kMatmulColumns + simdgroup, first_row = group.y * M;
  device const W* row = Format<W>::row(weights, min(column, args.columns - 1), args.depth);
  const InputRows<M> rows(input, args, first_row, lane);
  const float result =
      column_product<W, M>(row, rows, args.depth, chunks + simdgroup * kChunk, lane);
  if (lane < min(M, args.rows - first_row) && column < args.columns) {
    output[static_cast<ulong>(first_row + lane) * args.columns + column] = result;
  }
}

#define MLXN_ENTRY(format, type, ...)                \
  MLXN_KERNEL("matmul_1_" #format, matmul, type, 1); \
  MLXN_KERNEL("matmul_4_" #format, matmul, type, 4); \
  MLXN_KERNEL("matmul_8_" #format, matmul, type, 8);
MLXN_EACH_WEIGHT_FORMAT(MLXN_ENTRY)
