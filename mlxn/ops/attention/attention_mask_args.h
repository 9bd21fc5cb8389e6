// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct AttentionMaskArgs {
  uint64_t offset, window;  // position of row 0; 0: no window
  uint32_t columns, causal;
};
