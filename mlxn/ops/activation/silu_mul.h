#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct SiluMulParams {
  const Buffer& gate;    // f32, f16 or bf16
  const Buffer& up;      // of the gate's dtype and element count
  const Buffer& output;  // likewise; may be gate or up
};

// output = gate / (1 + exp(-gate)) * up, element by element: the SwiGLU activation, computed in
// float and rounded once. kDtypeMismatch, kShapeMismatch, kOutOfRange, kInvalidArgument for wrong
// arguments.
Status silu_mul(ComputeEncoder& encoder, const SiluMulParams& params);

}  // namespace mlxn
