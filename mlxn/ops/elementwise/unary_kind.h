// Shared by host and kernels.
#pragma once

#include "mlxn/base/kernel_shared.h"

namespace mlxn {

// Functions of one number x, some with the numbers a and b.
enum class UnaryKind : uint32_t {
  kNeg,
  kAbs,
  kSqr,
  kSqrt,
  kRsqrt,
  kExp,
  kExpm1,
  kLog,
  kSin,
  kCos,
  kTanh,
  kSigmoid,
  kRelu,
  kLeakyRelu,  // x where positive, else a * x
  kElu,        // x where positive, else a * (exp(x) - 1)
  kGeluTanh,
  kGeluErf,
  kGeluQuick,  // x * sigmoid(1.702 x)
  kSilu,
  kSoftplus,     // log(1 + exp(x))
  kHardswish,    // x * clamp(x + 3, 0, 6) / 6
  kHardsigmoid,  // clamp(x + 3, 0, 6) / 6
  kStep,         // 1 where positive, else 0
  kSign,
  kFloor,
  kCeil,
  kRound,  // half away from zero
  kTrunc,
  kSoftcap,  // tanh(x / a) * a, with a > 0
  kClamp,    // from a to b
  kAffine,   // x * a + b, rounded once
  kCount,
};

}  // namespace mlxn
