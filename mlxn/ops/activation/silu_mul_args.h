// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct SiluMulArgs {
  uint32_t count;
};
