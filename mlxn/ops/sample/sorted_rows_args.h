// Shared by host and kernels.
#pragma once

#include "mlxn/base/kernel_shared.h"

MLXN_CONSTANT uint32_t kSortBlock = 1024;

struct SortArgs {
  uint32_t dim;
  uint32_t descending;
  uint32_t run;  // sorted so far
};

struct TopKArgs {
  uint32_t dim, count;
};

struct SoftmaxSampleArgs {
  uint32_t dim;
  float temperature;
};
