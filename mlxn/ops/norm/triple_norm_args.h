// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

struct TripleNormArgs {
  uint32_t dim;
  float eps;
  uint32_t has_hidden;
};
