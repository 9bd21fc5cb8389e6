// Layout of activations rounded to 8 bits, shared by host and kernels.
//
// Rows come in tiles of 1, 4, 8 or 16, by how many there are; the last tile is filled up with its
// last row. A tile is a sequence of blocks of 32 elements, a block kRoundedWords words of each row
// of the tile:
//   0 to 7  codes of elements 4i to 4i + 3, a byte each with sign; value = scale * code
//   8       the scale, a float: the largest magnitude / 127
//   9       sum of the values, a float: what offsets of weights are multiplied by
//   10      -128 * sum of the codes: what sums begin with where weights are raised by 128
//   11      the same of elements 0 to 15 alone
#pragma once

#include "mlxn/base/kernel_shared.h"

MLXN_CONSTANT uint32_t kRoundedBlock = 32, kRoundedWords = 12;
MLXN_CONSTANT uint32_t kScaleWord = 8, kSumWord = 9, kStartWord = 10, kLowerStartWord = 11;

// Rows of a tile.
inline uint32_t rounded_tile(uint32_t rows) {
  return rows == 1 ? 1 : rows <= 4 ? 4 : rows <= 8 ? 8 : 16;
}
