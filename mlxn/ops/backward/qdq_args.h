// Shared by host and kernels.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct QdqArgs {
  uint32_t blocks;
};
