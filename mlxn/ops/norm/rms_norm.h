#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/kernels/kernel_registry.h"

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
Status rms_norm(ComputeEncoder& encoder, KernelRegistry& registry, const RmsNormParams& params);

// rms_norm followed by elementwise_mul with `scale`, which is like the input, in one dispatch and
// with the same bits. The output may be the input or the scale.
Status rms_norm_mul(ComputeEncoder& encoder, KernelRegistry& registry, const RmsNormParams& params,
                    const Buffer& scale);

}  // namespace mlxn
