// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct PackedFloatMatmulArgs {
  uint32_t rows, columns;  // m and n: of the output
  uint32_t depth;          // k
};
