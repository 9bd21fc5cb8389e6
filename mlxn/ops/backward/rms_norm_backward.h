// The gradients of y = x / rms(x) * w, in f32.
#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct RmsInverseParams {
  const Buffer& input;   // f32 [rows, dim]
  const Buffer& output;  // f32 [rows]
  float eps = 1e-6f;     // not negative
};

// output = 1 / sqrt(mean(input^2) + eps) of each row.
Status rms_inverse(ComputeEncoder& encoder, const RmsInverseParams& params);

struct RmsNormBackwardParams {
  const Buffer& input;     // f32 [rows, dim]: x of the way there
  const Buffer& gradient;  // f32 [rows, dim]: of y
  const Buffer& inverse;   // f32 [rows]: of rms_inverse
  const Buffer& weight;    // f32 [dim]; of no matter to the weight's own gradient
  const Buffer& output;    // the gradient of x [rows, dim], or of w [dim]
};

// With s = sum(gradient * x * w) and r the row's inverse:
//   of x: output = r * (gradient * w - x * s * r^2 / dim); may be input or gradient
//   of w: output = sum over the rows of gradient * x * r
// Rows have at most 2^24 elements. kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument
// for wrong arguments.
Status rms_norm_backward(ComputeEncoder& encoder, const RmsNormBackwardParams& params);
Status rms_norm_weight_backward(ComputeEncoder& encoder, const RmsNormBackwardParams& params);

}  // namespace mlxn
