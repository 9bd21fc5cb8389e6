// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct QuantiseRowsArgs {
  uint32_t rows, blocks;  // of 32 elements, in each row
  uint32_t tile;          // rows of a tile of the output
  uint32_t count;         // of blocks with those of rows that fill up the last tile
};
