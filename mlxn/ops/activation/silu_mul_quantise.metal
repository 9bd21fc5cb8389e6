// silu_mul_quantise_f32: silu_mul of rows, rounded to 8 bits, with the bits of silu_mul followed by
// quantise_rows. Buffers: 0 gate and 1 up [rows, blocks * 32], 2 output, 3 QuantiseRowsArgs. Grid:
// as quantise_rows.
#include "mlxn/ops/common/arithmetic.h"
#include "mlxn/ops/common/quantise_rows_args.h"
#include "mlxn/ops/common/rounded_block.h"

[[kernel, max_total_threads_per_threadgroup(kRoundedBlock)]] void silu_mul_quantise_f32(
    device const float* gate [[buffer(0)]], device const float* up [[buffer(1)]],
    device int* output [[buffer(2)]], constant QuantiseRowsArgs& args [[buffer(3)]],
    uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const RoundedRow row(output, group.x, args.rows, args.blocks, args.tile);
  const ulong begin = static_cast<ulong>(group.x) * args.blocks;
  const uint first = group.y * kRoundedRun, end = min(first + kRoundedRun, args.blocks);
  for (uint b = first; b < end; ++b) {
    const ulong at = (begin + b) * kRoundedBlock;
    store_rounded(silu_product((gate + at)[lane], (up + at)[lane]), row, b, lane);
  }
}
