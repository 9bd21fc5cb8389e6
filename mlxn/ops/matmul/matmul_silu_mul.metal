// matmul_silu_mul_{1,4,8}_{format}: output = g / (1 + exp(-g)) * u with g = matmul(gate, input) and
// u = matmul(up, input), with the bits of matmul twice and silu_mul.
// Buffers: 0 gate and 1 up [columns, depth] in the format, 2 input [rows, depth], 3 output [rows,
// columns], 4 MatmulArgs. Grid: threadgroups of 128 threads, (columns / 4, rows / rows at once).
#include "mlxn/ops/common/arithmetic.h"
#include "mlxn/ops/matmul/column_product.h"

template <typename W, uint M>
[[kernel, max_total_threads_per_threadgroup(kMatmulLanes* kMatmulColumns)]] void matmul_silu_mul(
    device const W* gate [[buffer(0)]], device const W* up [[buffer(1)]],
    device const float* input [[buffer(2)]], device float* output [[buffer(3)]],
    constant MatmulArgs& args [[buffer(4)]], uint2 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float chunks[kMatmulColumns * kChunk];
  threadgroup float* chunk = chunks + simdgroup * kChunk;
  const uint column = group.x * kMatmulColumns + simdgroup, first_row = group.y * M;
  const uint weights_row = min(column, args.columns - 1), depth = args.depth;
  const InputRows<M> rows(input, args, first_row, lane);
  const float g =
      column_product<W, M>(Format<W>::row(gate, weights_row, depth), rows, depth, chunk, lane);
  simdgroup_barrier(mem_flags::mem_threadgroup);
  const float u =
      column_product<W, M>(Format<W>::row(up, weights_row, depth), rows, depth, chunk, lane);
  if (lane < min(M, args.rows - first_row) && column < args.columns) {
    output[static_cast<ulong>(first_row + lane) * args.columns + column] = silu_product(g, u);
  }
}

#define MLXN_ENTRY(format, type, ...)                                  \
  MLXN_KERNEL("matmul_silu_mul_1_" #format, matmul_silu_mul, type, 1); \
  MLXN_KERNEL("matmul_silu_mul_4_" #format, matmul_silu_mul, type, 4); \
  MLXN_KERNEL("matmul_silu_mul_8_" #format, matmul_silu_mul, type, 8);
MLXN_EACH_WEIGHT_FORMAT(MLXN_ENTRY)
