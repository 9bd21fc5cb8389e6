// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct GateBetaArgs {
  uint32_t heads;
};
