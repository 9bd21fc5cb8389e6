#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct SoftmaxSampleParams {
  const Buffer& logits;    // f32 [rows, dim]
  const Buffer& uniforms;  // f32 [rows]: the caller's random numbers from 0 to below 1
  const Buffer& tokens;    // u32 [rows]
  const Buffer& logprobs;  // f32 [rows]: natural logarithms of the tokens' probabilities
  float temperature = 1;   // positive and finite
};

// tokens[r] = the first index at which the sum of softmax(logits / temperature) exceeds the uniform
// number; never one whose probability is 0. -infinity and NaN have none; of infinite logits each
// has as much. A row without any probability gives token 0 and -infinity. A number outside of
// [0, 1) counts as its nearer end, NaN as 0. kDtypeMismatch, kShapeMismatch, kOutOfRange,
// kInvalidArgument for wrong arguments.
Status softmax_sample(ComputeEncoder& encoder, const SoftmaxSampleParams& params);

}  // namespace mlxn
