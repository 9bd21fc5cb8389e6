// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

// Rows and columns of a block of a mask.
MLXN_CONSTANT uint32_t kMaskBlock = 32;

struct AttentionBlocksArgs {
  uint32_t rows, columns, block_columns;
};
