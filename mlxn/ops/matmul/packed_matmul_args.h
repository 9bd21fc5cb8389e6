// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

// A threadgroup makes this many columns of the output, for a tile of rows.
MLXN_CONSTANT uint32_t kPackedColumns = 64;

struct PackedMatmulArgs {
  uint32_t rows, columns;  // m and n: of the output
  uint32_t blocks;         // k / 32
};
