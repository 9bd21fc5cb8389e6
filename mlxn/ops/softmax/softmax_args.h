// Shared by host and kernel.
#pragma once

#include "mlxn/ops/common/args.h"

struct SoftmaxArgs {
  uint32_t columns;
};
