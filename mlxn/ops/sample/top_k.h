#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct TopKParams {
  const Buffer& input;    // f32 [rows, dim]
  const Buffer& indices;  // u32 [rows, k], k at most dim
  const Buffer& values;   // f32 [rows, k]
};

// The k largest elements of each row, falling, and where they are. Of equal ones the lowest index
// comes first; NaN is smaller than all numbers. kDtypeMismatch, kShapeMismatch, kOutOfRange,
// kInvalidArgument for wrong arguments.
Status top_k(ComputeEncoder& encoder, const TopKParams& params);

}  // namespace mlxn
