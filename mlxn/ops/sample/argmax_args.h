// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct ArgmaxArgs {
  uint32_t dim;
  uint32_t has_values;
};
