// MSL: one block of a row rounded to 8 bits.
#pragma once

#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/matmul/rounded_rows.h"

// `lines` is this row's word of line 0 of the block, `tile` the distance to that of line 1.
inline void store_rounded(thread const float (&values)[kRoundedBlock], device int* lines,
                          uint tile) {
  uint most = 0;  // as whole numbers magnitudes keep their order, with NaN at the top
#pragma unroll
  for (uint j = 0; j < kRoundedBlock; ++j) most = max(most, as_type<uint>(values[j]) & 0x7fffffffu);
  const float largest = as_type<float>(most), scale = largest / 127.0f;
  const float inverse = largest < 0x1p-120f ? 0.0f : 127.0f / largest;
  int halves[2] = {0, 0};
#pragma unroll
  for (uint i = 0; i < 8; ++i) {
    uint word = 0;
#pragma unroll
    for (uint b = 0; b < 4; ++b) {
      const int code = static_cast<int>(rint(values[4 * i + b] * inverse));
      halves[i / 4] += code;
      word |= static_cast<uint>(code & 0xff) << (8 * b);
    }
    lines[i * tile] = as_type<int>(word);
  }
  const int sum = halves[0] + halves[1];
  lines[kScaleWord * tile] = as_type<int>(scale);
  lines[kScaledSumWord * tile] = as_type<int>(scale * static_cast<float>(sum));
  lines[kStartWord * tile] = -128 * sum;
  lines[kUpperStartWord * tile] = -128 * halves[1];
}
