#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/ops/elementwise/unary_kind.h"

namespace mlxn {

struct UnaryParams {
  const Buffer& input;   // f32, f16 or bf16
  const Buffer& output;  // of the input's dtype and element count; may be the input
  UnaryKind kind;
  float a = 1, b = 0;  // what they are, the kind says; of kClamp a is at most b
};

// output = the kind's function of every element, computed in float and rounded once. A NaN comes
// out as a NaN, infinity as the limit. The exactness for f32 is that of the tests: a few units in
// the last place, also in the tails of sigmoids and gelus. kDtypeMismatch, kShapeMismatch,
// kOutOfRange and kInvalidArgument for wrong arguments.
Status unary(ComputeEncoder& encoder, const UnaryParams& params);

}  // namespace mlxn
