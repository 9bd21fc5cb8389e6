// Shared by host and kernel.
#pragma once

#include "mlxn/ops/common/args.h"

struct ElementwiseArgs {
  uint32_t count;
};
