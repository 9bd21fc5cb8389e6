// silu_mul_quantise_f32: silu_mul of rows, rounded to 8 bits, with the bits of silu_mul followed by
// quantise_rows. Buffers: 0 gate and 1 up [rows, blocks * 32], 2 output, 3 QuantiseRowsArgs. Grid:
// as quantise_rows.
#include "mlxn/ops/common/arithmetic.h"
#include "mlxn/ops/common/rounded_block.h"

[[kernel]] void silu_mul_quantise_f32(device const float* gate [[buffer(0)]],
                                      device const float* up [[buffer(1)]],
                                      device int* output [[buffer(2)]],
                                      constant QuantiseRowsArgs& args [[buffer(3)]],
                                      uint i [[thread_position_in_grid]]) {
  if (i >= args.count) return;
  const RoundedPlace place(i, args);
  float values[kRoundedBlock];
#pragma unroll
  for (uint j = 0; j < kRoundedBlock; ++j) {
    values[j] = silu_product(gate[place.from + j], up[place.from + j]);
  }
  store_rounded(values, output + place.to, args.tile);
}
