// Shared by host and kernels.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct RmsNormBackwardArgs {
  uint32_t rows, dim;
  float eps;
};
