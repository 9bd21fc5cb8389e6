// MSL: blocks of rows rounded to 8 bits, each by a simdgroup, an element by each lane.
#pragma once

#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/common/rounded_rows.h"

// Where a row goes in the layout of rounded_rows.h. The last row fills up its tile.
struct RoundedRow {
  device int* words;  // of its block 0
  uint tile;          // rows of a tile
  uint copies;        // how often the row is there, side by side

  RoundedRow(device int* output, uint row, uint rows, uint blocks, uint rows_of_tile)
      : tile(rows_of_tile) {
    const uint place = row % tile;
    words = output + (static_cast<ulong>(row / tile) * blocks * tile + place) * kRoundedWords;
    copies = row + 1 == rows ? tile - place : 1;
  }
};

// Rounds a block: `value` is the element at this thread's lane. All lanes call.
inline void store_rounded(float value, RoundedRow row, uint block, uint lane) {
  // As whole numbers magnitudes keep their order, with NaN at the top.
  const float largest = as_type<float>(simd_max(as_type<uint>(value) & 0x7fffffffu));
  const float scale = largest / 127.0f;
  const float inverse = largest < 0x1p-120f ? 0.0f : 127.0f / largest;
  const int code = static_cast<int>(rint(value * inverse));
  const int sum = simd_sum(code), lower_sum = simd_sum(lane < kRoundedBlock / 2 ? code : 0);

  // Of the words behind the codes.
  int word = as_type<int>(scale);
  word = lane == kSumWord - kScaleWord ? as_type<int>(scale * static_cast<float>(sum)) : word;
  word = lane == kStartWord - kScaleWord ? -128 * sum : word;
  word = lane == kLowerStartWord - kScaleWord ? -128 * lower_sum : word;
  device int* words = row.words + static_cast<ulong>(block) * row.tile * kRoundedWords;
  for (uint i = 0; i < row.copies; ++i) {
    simdgroup_barrier(mem_flags::mem_none);  // the lanes store side by side, copy after copy
    device int* copy = words + i * kRoundedWords;
    reinterpret_cast<device char*>(copy)[lane] = static_cast<char>(code);
    if (lane < kRoundedWords - kScaleWord) (copy + kScaleWord)[lane] = word;
  }
}
