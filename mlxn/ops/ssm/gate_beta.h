#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct GateBetaParams {
  const Buffer& alpha;        // f32 [tokens, heads]
  const Buffer& beta_logits;  // f32 [tokens, heads]
  const Buffer& bias;         // f32 [heads]
  const Buffer& a;            // f32 [heads], -exp(A_log)
  const Buffer& gate;         // f32 [tokens, heads]; may be alpha
  const Buffer& beta;         // f32 [tokens, heads]; may be beta_logits
};

// What delta_net's state decays by and takes in: gate = softplus(alpha + bias) * -a, which is not
// negative where a is not positive, and beta = sigmoid(beta_logits). kDtypeMismatch,
// kShapeMismatch, kOutOfRange, kInvalidArgument for wrong arguments.
Status gate_beta(ComputeEncoder& encoder, const GateBetaParams& params);

}  // namespace mlxn
