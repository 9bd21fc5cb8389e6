#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct ArgmaxParams {
  const Buffer& input;    // f32 [..., dim]
  const Buffer& indices;  // u32, an element for each row
};

// indices[r] = the lowest index of the largest element of row r. NaN is never the largest; a row of
// NaN alone gives 0. kDtypeMismatch, kShapeMismatch, kOutOfRange, kInvalidArgument for wrong
// arguments.
Status argmax(ComputeEncoder& encoder, const ArgmaxParams& params);

}  // namespace mlxn
