// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct EmbeddingArgs {
  uint64_t rows;  // of the table
  uint32_t dim;
};
