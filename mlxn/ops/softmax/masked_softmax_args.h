// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

// Dtype of the mask.
MLXN_CONSTANT uint32_t kMaskNone = 0, kMaskF32 = 1, kMaskF16 = 2, kMaskBf16 = 3;

struct MaskedSoftmaxArgs {
  uint32_t columns;
  uint32_t queries;  // rows of the mask
  uint32_t heads;    // of slopes and sinks; row r is of head r / queries % heads
  uint32_t mask;     // kMask...
  uint32_t has_slopes, has_sinks;
  float scale;
};
