// MSL: elements of a row in codes.
#pragma once

#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/turboquant/codebooks.h"
#include "mlxn/ops/turboquant/tq_args.h"

// The code of an element; bits that codes do not have count for nothing.
inline uint code_of(device const uchar* row, uint element, uint bits) {
  if (bits == 4) return row[element / 2] >> (4 * (element % 2)) & 15;
  return row[element] & (codebook_levels(bits) - 1);
}

// What a norm is divided by to become the scale of a row's values.
inline float unit_of(uint dim, float scale_factor) {
  return tq_norms(dim) == 1 ? sqrt(static_cast<float>(dim)) : scale_factor;
}
