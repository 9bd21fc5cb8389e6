// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct GroupNormArgs {
  uint32_t groups;
  uint32_t channels, places;  // of a group, of a channel: dim = channels * places
  float eps;
  uint32_t has_weight, has_bias;
};
