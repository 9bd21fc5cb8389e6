// Shared by host and kernels.
#pragma once

#include "mlxn/ops/elementwise/binary_kind.h"

MLXN_CONSTANT uint32_t kBinaryDims = 4;

// The last dimension first. Strides in elements, 0 in a dimension that is repeated.
struct BinaryArgs {
  mlxn::BinaryKind kind;
  uint32_t size[kBinaryDims];
  uint32_t pad[3];
  uint64_t a[kBinaryDims], b[kBinaryDims];
};
