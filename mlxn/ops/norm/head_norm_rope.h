#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/ops/rope/rope.h"

namespace mlxn {

struct HeadNormRopeParams {
  const Buffer& input;             // [tokens, heads, dim] with an even dim, f32, f16 or bf16
  const Buffer& output;            // as the input; may be the input
  const Buffer* table = nullptr;   // f32 [tokens, r/2, 2], of rope_table; without one none turns
  const Buffer* weight = nullptr;  // [dim], of the input's dtype, but f32 for f16
  float eps = 1e-6f;               // not negative
  RopePairs pairs = RopePairs::kHeadHalves;
  uint32_t offset = 0;  // of the rotary slice; as of rope

  // Further outputs, each for itself.
  const Buffer* copy = nullptr;      // bf16, as many elements: the result once more,
  bool copy_permuted = false;        // as [heads, tokens, dim]
  const Buffer* permuted = nullptr;  // of the input's dtype: the result as [heads, tokens, dim]
};

// output = rope(input / rms(input) * weight) for every head, in one step: computed in float,
// rounded once for each output. Frequencies and their denominator, several axes and YaRN are the
// table's. kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status head_norm_rope(ComputeEncoder& encoder, const HeadNormRopeParams& params);

}  // namespace mlxn
