#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct BatchedMatmulParams {
  const Buffer& weights;  // [slabs, n, k] in a weight format; transposed: [slabs, k, n] of floats
  const Buffer& input;    // f32, f16 or bf16 [batch, m, k]; heads first: [batch, heads, m, k/heads]
  const Buffer& output;   // f32, f16 or bf16 [batch, m, n]
  const Buffer* bias = nullptr;  // f32, f16 or bf16 [n]
  float alpha = 1;               // of the products, not of the bias
  bool transposed = false;
  bool heads_first = false;  // as attention leaves its results; heads of a multiple of 32 elements
};

// output[b][m][n] = alpha * sum over k of input[b][m][k] * weights[b / (batch / slabs)][n][k] +
// bias[n], where batch is a multiple of slabs. Floats of any of the three types, unrounded before
// they are multiplied; float products and sums, one rounding. Any k, m and n. A row has the same
// bits alone and among others, and with heads first as without. kDtypeMismatch, kShapeMismatch,
// kOutOfRange and kInvalidArgument for wrong arguments.
Status batched_matmul(ComputeEncoder& encoder, const BatchedMatmulParams& params);

}  // namespace mlxn
