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

// The largest of 16 lanes, for each of them.
inline uint max_of_half(uint value) {
#pragma unroll
  for (ushort step = 1; step < kRoundedBlock / 2; step *= 2) {
    value = max(value, simd_shuffle_xor(value, step));
  }
  return value;
}

inline int sum_of_half(int value) {
#pragma unroll
  for (ushort step = 1; step < kRoundedBlock / 2; step *= 2) {
    value += simd_shuffle_xor(value, step);
  }
  return value;
}

// Rounds a block: `value` is the element at this thread's lane. All lanes call.
inline void store_rounded(float value, RoundedRow row, uint block, uint lane) {
  // As whole numbers magnitudes keep their order, with NaN at the top.
  const float largest = as_type<float>(max_of_half(as_type<uint>(value) & 0x7fffffffu));
  const float scale = largest / 127.0f;
  const float inverse = largest < 0x1p-120f ? 0.0f : 127.0f / largest;
  const int code = static_cast<int>(rint(value * inverse));
  const int sum = sum_of_half(code);
  const int lower_sum = simd_shuffle(sum, 0), upper_sum = simd_shuffle(sum, kRoundedBlock / 2);
  const float lower_scale = simd_shuffle(scale, 0),
              upper_scale = simd_shuffle(scale, kRoundedBlock / 2);
  const float total = fma(upper_scale, static_cast<float>(upper_sum),
                          fma(lower_scale, static_cast<float>(lower_sum), 0.0f));

  // Lane i stores word i.
  uint codes = static_cast<uint>(code & 0xff) << (8 * (lane % 4));
  codes |= simd_shuffle_xor(codes, 1);
  codes |= simd_shuffle_xor(codes, 2);
  int mine = as_type<int>(simd_shuffle(codes, 4 * lane % kRoundedBlock));
  mine = lane == kScaleWord ? as_type<int>(lower_scale) : mine;
  mine = lane == kScaleWord + 1 ? as_type<int>(upper_scale) : mine;
  mine = lane == kSumWord ? as_type<int>(total) : mine;
  mine = lane == kStartWord ? -128 * lower_sum : mine;
  mine = lane == kStartWord + 1 ? -128 * upper_sum : mine;
  device int* words = row.words + static_cast<ulong>(block) * row.tile * kRoundedWords;
  for (uint i = 0; i < row.copies; ++i) {
    simdgroup_barrier(mem_flags::mem_none);  // the lanes store side by side, copy after copy
    if (lane < kRoundedWords) (words + i * kRoundedWords)[lane] = mine;
  }
}
