#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct SoftmaxParams {
  const Buffer& input;   // [..., dim], f32, f16 or bf16
  const Buffer& output;  // of the input's dtype and element count; may be the input
};

// output = exp(input - max) / sum(exp(input - max)) over the last dimension, computed in float and
// rounded once. A row of -infinity alone gives NaN. kDtypeMismatch, kShapeMismatch, kOutOfRange,
// kInvalidArgument for wrong arguments.
Status softmax(ComputeEncoder& encoder, const SoftmaxParams& params);

}  // namespace mlxn
