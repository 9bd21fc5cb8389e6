#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/graph/fusion.h"

namespace mlxn {

struct SiluMulQuantiseParams {
  const Buffer& gate;    // f32 [..., k]
  const Buffer& up;      // as the gate
  const Buffer& output;  // i32 rounded_shape(rows, k)
};

// silu_mul of f32 rows, followed by quantise_rows of the result, in one dispatch and with the same
// bits. kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status silu_mul_quantise(ComputeEncoder& encoder, const SiluMulQuantiseParams& params);
extern const FusionRule kSiluMulQuantiseRule;

}  // namespace mlxn
