// Shared by host and kernels.
#pragma once

#include "mlxn/base/kernel_shared.h"

MLXN_CONSTANT uint32_t kRopeMostPairs = 256;

struct RopeArgs {
  uint32_t heads, dim;
  uint32_t pairs;  // that turn: half the rotary dimensions
};

// Which elements of a head turn together: pair i is `offset` + i and the one `split` behind it,
// where pairs from `block` on begin as many elements later; adjacent ones are `offset` + 2i and
// + 2i + 1.
struct RopePlaces {
  uint32_t pairs, adjacent, offset, split, block;
};

struct RopeSliceArgs {
  uint32_t heads, dim;
  struct RopePlaces places;
  float direction;  // -1: back
};

struct RopeTableArgs {
  uint32_t pairs;
  uint32_t has_factors;
  uint32_t tokens;     // of an axis of the positions
  uint32_t is_signed;  // positions
  float magnitude;     // of cosine and sine
};

// Radians per position, as a float and what it lacks, so that angles are exact far out.
struct RopeFrequency {
  float high, low;
};
struct RopeFrequencies {
  struct RopeFrequency of[kRopeMostPairs];
  uint8_t axis[kRopeMostPairs];  // of the positions
};
