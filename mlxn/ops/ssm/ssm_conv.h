#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct SsmConvParams {
  const Buffer& input;      // [sequences, tokens, channels], f32, f16 or bf16
  const Buffer& weight;     // [channels, taps], 2 to 32 taps; the last one is for the current token
  const Buffer& state;      // [sequences, channels, taps - 1]: inputs before, the oldest first
  const Buffer& output;     // as the input
  const Buffer& new_state;  // as the state; may be the state
};

// Depthwise causal convolution with SiLU: output[t] = silu(sum over taps of weight[j] * x[t + j]),
// where x is the state followed by the input; new_state = the last taps - 1 of x. All of one dtype;
// computed in float, rounded once. One dispatch: with new_state as state nothing is read after it
// was written. kDtypeMismatch, kShapeMismatch, kOutOfRange, kInvalidArgument for wrong arguments.
Status ssm_conv(ComputeEncoder& encoder, const SsmConvParams& params);

}  // namespace mlxn
