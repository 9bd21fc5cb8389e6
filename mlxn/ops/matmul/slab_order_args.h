// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

MLXN_CONSTANT uint32_t kSlabOrderThreads = 64;

struct SlabOrderArgs {
  uint32_t rows, slabs;
};
