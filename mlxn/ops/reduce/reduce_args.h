// Shared by host and kernels.
#pragma once

#include "mlxn/ops/reduce/reduce_kind.h"

struct ReduceArgs {
  uint32_t columns;
  mlxn::ReduceKind kind;
};

struct CumsumArgs {
  uint32_t columns;
  uint32_t exclusive, reverse;
};
// Elements of a thread between barriers.
MLXN_CONSTANT uint32_t kCumsumRun = 8;
