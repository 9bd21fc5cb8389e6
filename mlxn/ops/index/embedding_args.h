// Shared by host and kernel.
#pragma once

#include "mlxn/ops/common/args.h"

struct EmbeddingArgs {
  uint64_t rows;  // of the table
  uint32_t dim;
};
