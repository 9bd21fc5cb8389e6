#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/kernels/kernel_registry.h"

namespace mlxn {

// output = a + b and output = a * b, element by element, without broadcasting: equal dtypes (f32,
// f16 or bf16) and equal element counts, shapes may differ. Rounded once. The output may be a or b.
// kDtypeMismatch, kShapeMismatch, kInvalidArgument for wrong arguments.
Status elementwise_add(ComputeEncoder& encoder, KernelRegistry& registry, const Buffer& a,
                       const Buffer& b, const Buffer& output);
Status elementwise_mul(ComputeEncoder& encoder, KernelRegistry& registry, const Buffer& a,
                       const Buffer& b, const Buffer& output);

}  // namespace mlxn
