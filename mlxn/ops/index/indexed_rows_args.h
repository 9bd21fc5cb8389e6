// Shared by host and kernels.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct GatherArgs {
  uint64_t rows;  // of the source
  uint32_t dim;
  uint32_t clamp;  // 1: an index past the source means its last row, 0: a row of zeros
};

struct SetRowsArgs {
  uint64_t rows;  // of the output
  uint32_t dim;
  uint32_t count;  // of indices
};

struct AffineEmbeddingArgs {
  uint64_t rows;  // of the table
  uint32_t dim, bits, group;
  float scale;
};
