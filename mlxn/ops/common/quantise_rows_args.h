// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

// Blocks of a row that a threadgroup rounds one after the other.
MLXN_CONSTANT uint32_t kRoundedRun = 32;

struct QuantiseRowsArgs {
  uint32_t rows, blocks;  // of 32 elements, in each row
  uint32_t tile;          // rows of a tile of the output
};
