#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/graph/fusion.h"

namespace mlxn {

struct MatmulSiluMulParams {
  const Buffer& gate;    // [n, k] in a weight format: f32, f16, bf16 or blocks along k
  const Buffer& up;      // as the gate
  const Buffer& input;   // f32 [..., k], m rows
  const Buffer& output;  // f32 [..., n], m rows
};

// output = silu_mul of matmul(gate, input) and matmul(up, input), in one dispatch and with the same
// bits. kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status matmul_silu_mul(ComputeEncoder& encoder, const MatmulSiluMulParams& params);
extern const FusionRule kMatmulSiluMulRule;

}  // namespace mlxn
