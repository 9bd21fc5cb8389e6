// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct TriSolveArgs {
  uint32_t size, columns;
};
