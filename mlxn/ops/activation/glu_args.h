// Shared by host and kernel.
#pragma once

#include "mlxn/ops/activation/glu_kind.h"

struct GluArgs {
  uint32_t dim;  // of a row of the output
  uint32_t run;  // elements of each thread
  mlxn::GluKind kind;
  float alpha, limit;
  uint32_t stride;    // from row to row of gate and up, in elements
  uint32_t gate, up;  // where their first rows begin
};
