#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct PermuteParams {
  const Buffer& input;           // up to four dimensions
  const Buffer& output;          // of the permuted shape and a dtype that copy accepts
  ArrayRef<uint32_t> axes = {};  // each once; dimension i of the output is axes[i] of the input
};

// output = input with its dimensions in another order; bit for bit, or rounded once to another
// float type. Errors as of copy.
Status permute(ComputeEncoder& encoder, const PermuteParams& params);

struct TransposeParams {
  const Buffer& input;   // [..., a, b], two to four dimensions
  const Buffer& output;  // [..., b, a]
};

// permute of the last two dimensions.
Status transpose(ComputeEncoder& encoder, const TransposeParams& params);

}  // namespace mlxn
