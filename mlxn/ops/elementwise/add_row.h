#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct AddRowParams {
  const Buffer& input;   // [..., dim], f32, f16 or bf16
  const Buffer& row;     // [dim], of the input's dtype
  const Buffer& output;  // as many elements as the input; may be the input
};

// output = input + row, the same row for all rows of the input's last dimension. Rounded once.
// kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status add_row(ComputeEncoder& encoder, const AddRowParams& params);

}  // namespace mlxn
