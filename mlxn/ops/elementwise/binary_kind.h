// Shared by host and kernels.
#pragma once

#include "mlxn/base/kernel_shared.h"

namespace mlxn {

enum class BinaryKind : uint32_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMin,  // where one is NaN, the other
  kMax,  // likewise
  kCount,
};

}  // namespace mlxn
