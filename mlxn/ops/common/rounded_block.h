// MSL: one block of a row rounded to 8 bits.
#pragma once

#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/common/quantise_rows_args.h"
#include "mlxn/ops/common/rounded_rows.h"

// Which block thread `i` rounds: where its values begin and where its word of line 0 goes. Rows of
// a tile are side by side; past the last row that is taken again.
struct RoundedPlace {
  ulong from, to;

  RoundedPlace(uint i, constant QuantiseRowsArgs& args) {
    const uint lane = i % args.tile, block = i / args.tile;  // of all tiles
    const uint row = min(block / args.blocks * args.tile + lane, args.rows - 1);
    from = (static_cast<ulong>(row) * args.blocks + block % args.blocks) * kRoundedBlock;
    to = static_cast<ulong>(block) * kRoundedWords * args.tile + lane;
  }
};

// `lines` is this row's word of line 0 of the block, `tile` the distance to that of line 1.
inline void store_rounded(thread const float (&values)[kRoundedBlock], device int* lines,
                          uint tile) {
  constexpr uint kHalf = kRoundedBlock / 2;
  float total = 0;
#pragma unroll
  for (uint h = 0; h < 2; ++h) {
    uint most = 0;  // as whole numbers magnitudes keep their order, with NaN at the top
#pragma unroll
    for (uint j = 0; j < kHalf; ++j) {
      most = max(most, as_type<uint>(values[kHalf * h + j]) & 0x7fffffffu);
    }
    const float largest = as_type<float>(most), scale = largest / 127.0f;
    const float inverse = largest < 0x1p-120f ? 0.0f : 127.0f / largest;
    int sum = 0;
#pragma unroll
    for (uint i = 4 * h; i < 4 * h + 4; ++i) {
      uint word = 0;
#pragma unroll
      for (uint b = 0; b < 4; ++b) {
        const int code = static_cast<int>(rint(values[4 * i + b] * inverse));
        sum += code;
        word |= static_cast<uint>(code & 0xff) << (8 * b);
      }
      lines[i * tile] = as_type<int>(word);
    }
    total = fma(scale, static_cast<float>(sum), total);
    lines[(kScaleWord + h) * tile] = as_type<int>(scale);
    lines[(kStartWord + h) * tile] = -128 * sum;
  }
  lines[kSumWord * tile] = as_type<int>(total);
}
