// quantise_rows_f32: rows rounded to 8 bits, block by block, in the layout of rounded_rows.h.
// Buffers: 0 input [rows, blocks * 32], 1 output, 2 QuantiseRowsArgs. Grid: a thread for each
// block, rows of a tile side by side; any threadgroup. A block's scale is its largest magnitude /
// 127; codes are rounded to nearest, ties to even. Blocks below 2^-120 become zeros; a NaN or an
// infinity makes the scale one.
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/matmul/quantise_rows_args.h"
#include "mlxn/ops/matmul/rounded_block.h"

[[kernel]] void quantise_rows_f32(device const float* input [[buffer(0)]],
                                  device int* output [[buffer(1)]],
                                  constant QuantiseRowsArgs& args [[buffer(2)]],
                                  uint i [[thread_position_in_grid]]) {
  if (i >= args.count) return;
  const uint lane = i % args.tile, block = i / args.tile;  // of all tiles
  const uint row = min(block / args.blocks * args.tile + lane, args.rows - 1);
  device const float* from =
      input + (static_cast<ulong>(row) * args.blocks + block % args.blocks) * kRoundedBlock;
  float values[kRoundedBlock];
#pragma unroll
  for (uint j = 0; j < kRoundedBlock; ++j) values[j] = from[j];
  store_rounded(values, output + static_cast<ulong>(block) * kRoundedWords * args.tile + lane,
                args.tile);
}
