#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/kernels/kernel_registry.h"

namespace mlxn {

// output = gate / (1 + exp(-gate)) * up, element by element: the SwiGLU activation. f32, f16 or
// bf16, computed in float and rounded once; equal dtypes and element counts. The output may be gate
// or up. kDtypeMismatch, kShapeMismatch, kOutOfRange, kInvalidArgument for wrong arguments.
Status silu_mul(ComputeEncoder& encoder, KernelRegistry& registry, const Buffer& gate,
                const Buffer& up, const Buffer& output);

}  // namespace mlxn
