// Shared by host and kernel.
#pragma once

#include "mlxn/ops/rope/rope_args.h"

MLXN_CONSTANT uint32_t kHeadWeight = 1, kHeadCopy = 2, kHeadCopyPermuted = 4, kHeadPermuted = 8;

struct HeadNormRopeArgs {
  uint32_t heads, tokens, dim;
  uint32_t parts;  // of the above
  float eps;
  struct RopePlaces places;
};
