#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/ops/elementwise/binary_kind.h"

namespace mlxn {

struct BinaryParams {
  const Buffer& a;       // f32, f16 or bf16, of up to four dimensions
  const Buffer& b;       // of a's dtype
  const Buffer& output;  // likewise; may be a or b where that one is not repeated
  BinaryKind kind;
};

// output = a op b, computed in float and rounded once. Shapes are compared from the last dimension
// on: sizes are equal or one of them is 1, which is then repeated, as is a dimension that one does
// not have. The output has the shape that comes out. kDtypeMismatch, kShapeMismatch, kOutOfRange
// and kInvalidArgument for wrong arguments.
Status binary(ComputeEncoder& encoder, const BinaryParams& params);

}  // namespace mlxn
