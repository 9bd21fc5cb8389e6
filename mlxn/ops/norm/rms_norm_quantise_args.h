// Shared by host and kernels.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct RmsNormQuantiseArgs {
  float eps;
  uint32_t rows, blocks;  // of 32 elements, in each row
  uint32_t tile;          // rows of a tile of the output
};
