// Shared by host and kernels.
#pragma once

#include "mlxn/base/kernel_shared.h"

MLXN_CONSTANT uint32_t kRopeMostPairs = 256;

struct RopeArgs {
  uint32_t heads, dim;
  uint32_t pairs;  // that turn: half the rotary dimensions
};

struct RopeTableArgs {
  uint32_t pairs;
  uint32_t has_factors;
};

// Radians per position, as a float and what it lacks, so that angles are exact far out.
struct RopeFrequency {
  float high, low;
};
struct RopeFrequencies {
  RopeFrequency of[kRopeMostPairs];
};
