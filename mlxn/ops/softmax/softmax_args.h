// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct SoftmaxArgs {
  uint32_t columns;
};
