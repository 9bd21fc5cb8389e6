#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct ElementwiseParams {
  const Buffer& a;       // f32, f16 or bf16
  const Buffer& b;       // of a's dtype and element count, shapes may differ
  const Buffer& output;  // likewise; may be a or b
};

// output = a + b and output = a * b, element by element, without broadcasting. Rounded once.
// kDtypeMismatch, kShapeMismatch, kOutOfRange, kInvalidArgument for wrong arguments.
Status elementwise_add(ComputeEncoder& encoder, const ElementwiseParams& params);
Status elementwise_mul(ComputeEncoder& encoder, const ElementwiseParams& params);

}  // namespace mlxn
