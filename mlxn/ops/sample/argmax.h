#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct ArgmaxParams {
  const Buffer& input;             // f32 [..., dim]
  const Buffer& indices;           // u32, an element for each row
  const Buffer* values = nullptr;  // f32, as the indices; may be left out
};

// indices[r] = the lowest index of the largest element of row r, values[r] = that element. NaN is
// never the largest; a row of NaN alone gives index 0 and -infinity. kDtypeMismatch,
// kShapeMismatch, kOutOfRange, kInvalidArgument for wrong arguments.
Status argmax(ComputeEncoder& encoder, const ArgmaxParams& params);

}  // namespace mlxn
