// Gradients of functions of one tensor, in f32.
#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/ops/elementwise/unary_kind.h"

namespace mlxn {

struct UnaryBackwardParams {
  const Buffer& input;     // f32: x of the way there
  const Buffer& gradient;  // as the input
  const Buffer& output;    // as the input; may be input or gradient
  UnaryKind kind;          // kSilu or kLog
};

// output = gradient * f'(input): of silu with s = sigmoid(x) that is s * (1 + x * (1 - s)), of the
// logarithm 1 / x.
Status unary_backward(ComputeEncoder& encoder, const UnaryBackwardParams& params);

struct SoftmaxBackwardParams {
  const Buffer& result;    // f32 [..., columns]: what softmax gave
  const Buffer& gradient;  // as the result
  const Buffer& output;    // as the result; may be result or gradient
};

// output = result * (gradient - sum(result * gradient)) row by row.
Status softmax_backward(ComputeEncoder& encoder, const SoftmaxBackwardParams& params);

struct RowSumBackwardParams {
  const Buffer& gradient;  // f32 [rows]
  const Buffer& output;    // f32 [rows, columns]
  float scale = 1;         // 1 / columns for a mean
};

// output = gradient * scale, the same number for all of a row.
Status row_sum_backward(ComputeEncoder& encoder, const RowSumBackwardParams& params);

// All: kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.

}  // namespace mlxn
