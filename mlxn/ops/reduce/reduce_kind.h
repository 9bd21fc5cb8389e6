// Shared by host and kernels.
#pragma once

#include "mlxn/base/kernel_shared.h"

namespace mlxn {

enum class ReduceKind : uint32_t {
  kSum,
  kMean,
  kMax,  // NaN is left out
  kMin,  // likewise
  kProduct,
  kLogSumExp,  // log(sum(exp(x))), without overflow
  kCount,
};

}  // namespace mlxn
