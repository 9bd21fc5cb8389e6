#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/ops/matmul/matmul_args.h"

namespace mlxn {

struct MatmulParams {
  const Buffer& weights;  // [n, k] in a weight format: f32, f16, bf16 or blocks along k
  const Buffer& input;    // f32 [..., k], m rows
  const Buffer& output;   // f32 [..., n], m rows
};

// output[m][n] = sum over k of input[m][k] * weights[n][k], with float products and sums and
// unrounded inputs. A row has the same bits alone and among others.
// kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status matmul(ComputeEncoder& encoder, const MatmulParams& params);

}  // namespace mlxn
