#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/graph/fusion.h"

namespace mlxn {

struct RmsNormParams {
  const Buffer& input;   // [..., dim], f32, f16 or bf16
  const Buffer& weight;  // [dim], of the input's dtype, but f32 for f16
  const Buffer& output;  // as many elements as the input; may be the input
  float eps = 1e-6f;     // not negative
};

// output = input * rsqrt(mean(input^2) + eps) * weight over the last dimension (at most 2^24),
// computed in float and rounded once. kDtypeMismatch, kShapeMismatch, kOutOfRange and
// kInvalidArgument for wrong arguments.
Status rms_norm(ComputeEncoder& encoder, const RmsNormParams& params);

struct RmsNormMulParams {
  RmsNormParams norm;   // its output may be the scale too
  const Buffer& scale;  // as the input
};

// rms_norm followed by elementwise_mul with `scale` in one dispatch and with the same bits.
Status rms_norm_mul(ComputeEncoder& encoder, const RmsNormMulParams& params);
extern const FusionRule kRmsNormMulRule;

struct AddRmsNormParams {
  const Buffer& a;    // [..., dim], f32, f16 or bf16
  const Buffer& b;    // as a
  const Buffer& sum;  // as a; may be a or b
  const Buffer& weight;
  const Buffer& output;  // as a; may be a or b when the sum is not
  float eps = 1e-6f;
};

// elementwise_add of a and b, followed by rms_norm of the sum, in one dispatch and with the same
// bits: what a layer of a model does to its residual.
Status add_rms_norm(ComputeEncoder& encoder, const AddRmsNormParams& params);
extern const FusionRule kAddRmsNormRule;

}  // namespace mlxn
