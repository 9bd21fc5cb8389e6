#pragma once

#include "mlxn/ops/matmul/packed_matmul.h"

namespace mlxn {

struct PackedFloatMatmulParams {
  const PackedWeights& weights;  // [n, k] of f32, f16 or bf16
  const Buffer& input;           // f32 [..., k], m rows
  const Buffer& output;          // f32 [..., n], m rows
};

// output[m][n] = sum over k of input[m][k] * weights[n][k], with float products and sums and
// unrounded inputs. A row has the same bits alone and among others. kUnsupported, kDtypeMismatch,
// kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status packed_float_matmul(ComputeEncoder& encoder, const PackedFloatMatmulParams& params);

}  // namespace mlxn
