// Shared by host and kernels.
#pragma once

#include "mlxn/base/kernel_shared.h"

namespace mlxn {

// What a gate does before it is multiplied with `up`.
enum class GluKind : uint32_t {
  kSwiglu,  // silu
  kGegluTanh,
  kGegluErf,
  kGegluQuick,  // gate * sigmoid(1.702 gate)
  kReglu,
  kSigmoid,
  kSwigluOai,  // g * sigmoid(alpha g) * (1 + up), g and up limited first
  kCount,
};

}  // namespace mlxn
