#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct ArgsortParams {
  const Buffer& input;    // f32 [..., dim]
  const Buffer& indices;  // u32, as many
  bool descending = false;
  // u32, as many: for rows of more than 1024 elements. Made by the op where it is left out.
  const Buffer* scratch = nullptr;
};

// indices of each row = its places in the order of their elements. Equal elements (the zeros are)
// keep their order; NaN comes last both ways. Long rows take several dispatches with barriers
// between them. kDtypeMismatch, kShapeMismatch, kOutOfRange, kInvalidArgument for wrong arguments.
Status argsort(ComputeEncoder& encoder, const ArgsortParams& params);

}  // namespace mlxn
