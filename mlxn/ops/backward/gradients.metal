// unary_backward_f32: gradient[i] * f'(input[i]). Buffers: 0 input, 1 gradient, 2 output,
// 3 UnaryBackwardArgs. Grid: one thread for each element.
// softmax_backward_f32: result * (gradient - sum(result * gradient)), row by row. Buffers:
// 0 result, 1 gradient, 2 output, 3 RowBackwardArgs. Grid: one threadgroup for each row.
// Threadgroup memory 0: a float for each thread.
// row_sum_backward_f32: gradient * scale along each row. Buffers: 0 gradient [rows], 1 output,
// 2 RowBackwardArgs. Grid: columns x rows threads.
// In place is allowed.
#include "mlxn/ops/backward/gradient_args.h"
#include "mlxn/ops/common/functions.h"
#include "mlxn/ops/common/row_kernel.h"

[[kernel]] void unary_backward_f32(device const float* input [[buffer(0)]],
                                   device const float* gradient [[buffer(1)]],
                                   device float* output [[buffer(2)]],
                                   constant UnaryBackwardArgs& args [[buffer(3)]],
                                   uint i [[thread_position_in_grid]]) {
  if (i >= args.count) return;
  const float x = input[i], dy = gradient[i];
  const float open = sigmoid_of(x), shut = sigmoid_of(-x);  // 1 - open, with its digits
  const float of_silu = dy * (open * (1.0f + bounded_below(x) * shut));
  output[i] = args.function == kOfSilu ? of_silu : dy / x;
}

[[kernel]] void softmax_backward_f32(device const float* result [[buffer(0)]],
                                     device const float* gradient [[buffer(1)]],
                                     device float* output [[buffer(2)]],
                                     constant RowBackwardArgs& args [[buffer(3)]],
                                     MLXN_ROW_ARGUMENTS) {
  const ulong begin = static_cast<ulong>(group) * args.columns;
  device const float* y = result + begin;
  device const float* dy = gradient + begin;
  Accumulator products = 0;
  for (uint i = first; i < args.columns; i += step) products += y[i] * dy[i];
  const float sum = threadgroup_sum(products, scratch, MLXN_ROW_PLACE);
  for (uint i = first; i < args.columns; i += step) (output + begin)[i] = y[i] * (dy[i] - sum);
}

[[kernel]] void row_sum_backward_f32(device const float* gradient [[buffer(0)]],
                                     device float* output [[buffer(1)]],
                                     constant RowBackwardArgs& args [[buffer(2)]],
                                     uint2 at [[thread_position_in_grid]]) {
  const float value = gradient[at.y] * args.scale;
  (output + static_cast<ulong>(at.y) * args.columns)[at.x] = value;
}
