#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/kernels/kernel_registry.h"

namespace mlxn {

// output = exp(input - max) / sum(exp(input - max)) over the last dimension, computed in float and
// rounded once. f32, f16 or bf16; the output has as many elements and may be the input. A row of
// -infinity alone gives NaN. kDtypeMismatch, kShapeMismatch, kInvalidArgument for wrong arguments.
Status softmax(ComputeEncoder& encoder, KernelRegistry& registry, const Buffer& input,
               const Buffer& output);

}  // namespace mlxn
