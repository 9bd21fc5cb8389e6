// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

// A threadgroup makes this many columns of the output, a simdgroup of this many threads each, ...
MLXN_CONSTANT uint32_t kMatmulColumns = 4, kMatmulLanes = 32;
// ... for up to this many rows: then every weight is read once.
MLXN_CONSTANT uint32_t kMatvecRows = 8;

struct MatmulArgs {
  uint32_t rows, columns;  // m and n: of the output
  uint32_t depth;          // k: of input and weights
};
