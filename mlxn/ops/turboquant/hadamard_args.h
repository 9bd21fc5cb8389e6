// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

MLXN_CONSTANT uint32_t kMostHadamard = 8192;  // elements of a row

struct HadamardArgs {
  uint32_t dim;  // elements of a row
  uint32_t signs_before, signs_after;
};
