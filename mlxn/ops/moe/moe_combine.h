#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct MoeCombineParams {
  const Buffer& experts;  // [tokens, slots, dim], f32, f16 or bf16
  const Buffer& weights;  // f32 [tokens, slots]
  const Buffer& output;   // f32 [tokens, dim]; may be the residual or the shared expert's
  const Buffer* residual = nullptr;       // f32 [tokens, dim]
  const Buffer* shared = nullptr;         // f32 [tokens, dim]: what an expert for all tokens gives,
  const Buffer* shared_logits = nullptr;  // f32 [tokens]: times the sigmoid of this
};

// output = sum over slots of weights * experts + sigmoid(shared_logits) * shared + residual, summed
// in float in this order. With one slot and the output as residual it adds a weighted expert.
// kDtypeMismatch, kShapeMismatch, kOutOfRange, kInvalidArgument for wrong arguments.
Status moe_combine(ComputeEncoder& encoder, const MoeCombineParams& params);

struct MoeCombineNormParams {
  const Buffer& experts;  // as above
  const Buffer& weights;
  const Buffer& norm_weight;                // f32 [dim]
  const Buffer& residual;                   // f32 [tokens, dim]
  const Buffer& output;                     // f32 [tokens, dim]; may be the residual
  const Buffer* residual_weight = nullptr;  // f32 [dim]
  float eps = 1e-6f;                        // not negative
};

// output = residual + rms_norm(sum over slots of weights * experts) * norm_weight. With a
// residual_weight the residual is normalised as well: rms_norm(residual) * residual_weight stands
// in its place.
Status moe_combine_norm(ComputeEncoder& encoder, const MoeCombineNormParams& params);

}  // namespace mlxn
