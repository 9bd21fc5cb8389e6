// Shared by host and kernel.
#pragma once

#include "mlxn/ops/elementwise/unary_kind.h"

struct UnaryArgs {
  uint32_t count;
  uint32_t run;  // elements of each thread, so that the kind is looked at seldom
  mlxn::UnaryKind kind;
  float a, b;
};
