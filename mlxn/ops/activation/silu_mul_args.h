// Shared by host and kernel.
#pragma once

#include "mlxn/ops/common/args.h"

struct SiluMulArgs {
  uint32_t count;
};
