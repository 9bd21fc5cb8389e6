// quantise_rows_f32: rows rounded to 8 bits, block by block, in the layout of rounded_rows.h.
// Buffers: 0 input [rows, blocks * 32], 1 output, 2 QuantiseRowsArgs. Grid: threadgroups of 32
// threads, (rows, runs of kRoundedRun blocks). The scale of a block is their largest magnitude
// / 127; codes are rounded to nearest, ties to even. Magnitudes below 2^-120 become zeros; a NaN or
// an infinity makes the scale one.
#include "mlxn/ops/common/quantise_rows_args.h"
#include "mlxn/ops/common/rounded_block.h"

[[kernel, max_total_threads_per_threadgroup(kRoundedBlock)]] void quantise_rows_f32(
    device const float* input [[buffer(0)]], device int* output [[buffer(1)]],
    constant QuantiseRowsArgs& args [[buffer(2)]], uint2 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  const RoundedRow row(output, group.x, args.rows, args.blocks, args.tile);
  const ulong begin = static_cast<ulong>(group.x) * args.blocks;
  const uint first = group.y * kRoundedRun, end = min(first + kRoundedRun, args.blocks);
  for (uint b = first; b < end; ++b) {
    store_rounded((input + (begin + b) * kRoundedBlock)[lane], row, b, lane);
  }
}
