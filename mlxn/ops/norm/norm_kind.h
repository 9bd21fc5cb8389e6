// Shared by host and kernels.
#pragma once

#include "mlxn/base/kernel_shared.h"

namespace mlxn {

// What a row is divided by. Only kLayer takes the mean away first.
enum class NormKind : uint32_t {
  kRms,        // sqrt(mean(x^2) + eps)
  kLayer,      // sqrt(mean((x - mean)^2) + eps)
  kL2,         // sqrt(sum(x^2) + eps)
  kL2AtLeast,  // max(sqrt(sum(x^2)), eps)
  kCount,
};

}  // namespace mlxn
