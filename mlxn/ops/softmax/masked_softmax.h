#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct MaskedSoftmaxParams {
  const Buffer& input;             // [..., heads, queries, columns], f32, f16 or bf16
  const Buffer& output;            // of the input's dtype and element count; may be the input
  float scale = 1;                 // finite
  const Buffer* mask = nullptr;    // [queries, columns], f32, f16 or bf16, for all heads: is added
  const Buffer* slopes = nullptr;  // f32 [heads]: the mask is multiplied by its head's (ALiBi)
  const Buffer* sinks = nullptr;   // f32 [heads]: one more number in each row, which gets a share
};

// output = softmax(input * scale + slope * mask) over the last dimension, computed in float and
// rounded once. -infinity in a mask hides whatever the slope is; so does a NaN in it, and what
// is below -3e38. A row where all is hidden, or -infinity, gives zeros; a NaN in the input gives a
// row of NaN. Without mask and heads' numbers the input is rows of any kind.
// kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status masked_softmax(ComputeEncoder& encoder, const MaskedSoftmaxParams& params);

}  // namespace mlxn
