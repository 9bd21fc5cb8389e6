#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct QdqParams {
  const Buffer& input;   // f32, a multiple of 32 elements
  const Buffer& output;  // f32, as many; may be the input
  Dtype format;          // kQ4_0 or kQ8_0
};

// What is left of the values after a way through a block format and back, bit for bit what
// mlxn/quant makes of them. Of values with one magnitude the first gives the scale its sign. A NaN
// stays one and is of no matter to the others; where a scale does not fit into a half (magnitudes
// from 524160 on for q4_0), the block's values are infinite or NaN. kDtypeMismatch, kShapeMismatch,
// kOutOfRange and kInvalidArgument for wrong arguments.
Status qdq(ComputeEncoder& encoder, const QdqParams& params);

}  // namespace mlxn
