#pragma once

#include <array>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct TripleNormParams {
  const Buffer& input;                   // [..., dim], f32, f16 or bf16
  std::array<const Buffer*, 3> weights;  // [dim], of the input's dtype, but f32 for f16
  std::array<const Buffer*, 3> outputs;  // as the input
  float eps = 1e-6f;                     // not negative

  // All three or none: what attention gave is normed and added to the hidden state before.
  const Buffer* hidden = nullptr;         // as the input
  const Buffer* hidden_weight = nullptr;  // [dim], as weights
  const Buffer* sum = nullptr;            // as the input; may be hidden or the input
};

// outputs[j] = x / rms(x) * weights[j] over the last dimension, where x is the input or
// sum = hidden + input / rms(input) * hidden_weight, rounded. The bits are those of the norms one
// after the other. An output may be input or hidden; outputs and sum are apart. kDtypeMismatch,
// kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status triple_norm(ComputeEncoder& encoder, const TripleNormParams& params);

}  // namespace mlxn
