// Shared by host and kernel.
#pragma once

#include "mlxn/ops/common/args.h"

struct ArgmaxArgs {
  uint32_t dim;
};
