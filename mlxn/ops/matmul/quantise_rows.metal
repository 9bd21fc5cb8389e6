// quantise_rows_f32: rows rounded to 8 bits, block by block, in the layout of rounded_rows.h.
// Buffers: 0 input [rows, blocks * 32], 1 output, 2 QuantiseRowsArgs. Grid: a thread for each
// block, rows of a tile side by side; any threadgroup. The scale of 16 elements is their largest
// magnitude / 127; codes are rounded to nearest, ties to even. Magnitudes below 2^-120 become
// zeros; a NaN or an infinity makes the scale one.
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/common/quantise_rows_args.h"
#include "mlxn/ops/common/rounded_block.h"

[[kernel]] void quantise_rows_f32(device const float* input [[buffer(0)]],
                                  device int* output [[buffer(1)]],
                                  constant QuantiseRowsArgs& args [[buffer(2)]],
                                  uint i [[thread_position_in_grid]]) {
  if (i >= args.count) return;
  const RoundedPlace place(i, args);
  float values[kRoundedBlock];
#pragma unroll
  for (uint j = 0; j < kRoundedBlock; ++j) values[j] = input[place.from + j];
  store_rounded(values, output + place.to, args.tile);
}
