#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/ops/reduce/reduce_kind.h"

namespace mlxn {

struct ReduceParams {
  const Buffer& input;   // [..., columns], f32, f16 or bf16
  const Buffer& output;  // f32, an element for each row
  ReduceKind kind = ReduceKind::kSum;
};

// One number for each row of the last dimension, computed in float: sums of any length keep their
// digits, as they are sums of shorter sums. A row where nothing is left gives
// -infinity as largest and +infinity as smallest. kDtypeMismatch, kShapeMismatch, kOutOfRange and
// kInvalidArgument for wrong arguments.
Status reduce(ComputeEncoder& encoder, const ReduceParams& params);

}  // namespace mlxn
