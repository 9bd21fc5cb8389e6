#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/kernels/kernel_registry.h"

namespace mlxn {

// indices[r] = the lowest index of the largest element of row r: input f32 [..., dim], indices u32
// with an element for each row. NaN is never the largest; a row of NaN alone gives 0.
// kDtypeMismatch, kShapeMismatch, kOutOfRange, kInvalidArgument for wrong arguments.
Status argmax(ComputeEncoder& encoder, KernelRegistry& registry, const Buffer& input,
              const Buffer& indices);

}  // namespace mlxn
