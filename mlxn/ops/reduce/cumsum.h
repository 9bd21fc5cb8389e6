#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct CumsumParams {
  const Buffer& input;     // [..., columns], f32, f16 or bf16
  const Buffer& output;    // of the input's dtype and element count; may be the input
  bool exclusive = false;  // an element's own value is not in its sum
  bool reverse = false;    // from the end of the row on
};

// The sums of the elements up to each one, along the last dimension of any length. Added up in
// float, rounded once. kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for wrong
// arguments.
Status cumsum(ComputeEncoder& encoder, const CumsumParams& params);

}  // namespace mlxn
