// packed_matmul_{1,4,8,16}_{format}: output[m][n] = sum over k of input[m][k] * weights[n][k], for
// a tile of 1, 4, 8 or 16 rows m at once. Buffers: 0 weights in the layout of packed_rows.h, 1
// input in that of rounded_rows.h, 2 output [rows, columns], 3 PackedMatmulArgs. Grid: threadgroups
// of 64 threads, (tiles, columns / 64).
#include "mlxn/ops/matmul/packed_product.h"

template <typename W, uint M>
[[kernel, max_total_threads_per_threadgroup(kPackedColumns)]] void packed_matmul(
    device const uchar* weights [[buffer(0)]], device const int* input [[buffer(1)]],
    device float* output [[buffer(2)]], constant PackedMatmulArgs& args [[buffer(3)]],
    uint2 group [[threadgroup_position_in_grid]],
    uint2 thread_index [[thread_position_in_threadgroup]]) {
  const PackedPlace place(group.y, thread_index.x);
  Accumulator sums[M];
  packed_product<W, M>(sums, weights, input, args, group.x, place);
  store_products<M>(sums, output, args, group.x, place);
}

#define MLXN_ENTRY(format, block, dtype)                            \
  MLXN_KERNEL("packed_matmul_1_" #format, packed_matmul, block, 1); \
  MLXN_KERNEL("packed_matmul_4_" #format, packed_matmul, block, 4); \
  MLXN_KERNEL("packed_matmul_8_" #format, packed_matmul, block, 8); \
  MLXN_KERNEL("packed_matmul_16_" #format, packed_matmul, block, 16);
MLXN_EACH_PACKED_FORMAT(MLXN_ENTRY)
