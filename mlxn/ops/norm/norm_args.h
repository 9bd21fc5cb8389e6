// Shared by host and kernels.
#pragma once

#include "mlxn/ops/norm/norm_kind.h"

// What there is besides input and output.
MLXN_CONSTANT uint32_t kNormWeight = 1, kNormBias = 2, kNormGate = 4, kNormResidualFirst = 8,
                       kNormResidualLast = 16, kNormFactor = 32, kNormFactorRow = 64,
                       kNormSum = 128, kNormCopy = 256;

struct NormArgs {
  mlxn::NormKind kind;
  uint32_t parts;  // of the above
  uint32_t dim;
  float eps;
  uint32_t heads, tokens;  // of the copy's order [heads, tokens, dim]; 1 and 1 for the input's
};
