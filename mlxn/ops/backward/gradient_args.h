// Shared by host and kernels.
#pragma once

#include "mlxn/base/kernel_shared.h"

MLXN_CONSTANT uint32_t kOfSilu = 0, kOfLog = 1;
struct UnaryBackwardArgs {
  uint32_t count, function;
};

struct RowBackwardArgs {
  uint32_t columns;
  float scale;
};
