// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct EmbeddingArgs {
  uint64_t rows;  // of the table
  uint32_t dim;
  float scale;
  uint32_t clamp;  // 1: an id past the table means its last row, 0: a row of zeros
};
