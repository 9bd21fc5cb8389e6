// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct ElementwiseArgs {
  uint32_t count;
};
struct FillArgs {
  uint32_t count, bits;
};
