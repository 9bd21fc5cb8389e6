// rms_inverse_f32: 1 / sqrt(mean(input^2) + eps) of each row.
// Buffers: 0 input [rows, dim], 1 output [rows], 2 RmsNormBackwardArgs.
// rms_norm_backward_f32: the gradient of a norm's input. Buffers: 0 input, 1 gradient, 2 inverse
// [rows], 3 weight [dim], 4 output, 5 RmsNormBackwardArgs. In place is allowed.
// Both: one threadgroup for each row, threadgroup memory 0 a float for each thread.
// rms_norm_weight_backward_f32: the gradient of its weight. Buffers: 0 input, 1 gradient,
// 2 inverse, 3 output [dim], 4 RmsNormBackwardArgs. Grid: one thread for each of dim.
#include "mlxn/ops/backward/rms_norm_backward_args.h"
#include "mlxn/ops/common/row_kernel.h"

[[kernel]] void rms_inverse_f32(device const float* input [[buffer(0)]],
                                device float* output [[buffer(1)]],
                                constant RmsNormBackwardArgs& args [[buffer(2)]],
                                MLXN_ROW_ARGUMENTS) {
  device const float* x = input + static_cast<ulong>(group) * args.dim;
  Accumulator squares = 0;
  for (uint i = first; i < args.dim; i += step) squares += x[i] * x[i];
  const float sum = threadgroup_sum(squares, scratch, MLXN_ROW_PLACE);
  if (first == 0) output[group] = rsqrt(sum / static_cast<float>(args.dim) + args.eps);
}

[[kernel]] void rms_norm_backward_f32(device const float* input [[buffer(0)]],
                                      device const float* gradient [[buffer(1)]],
                                      device const float* inverse [[buffer(2)]],
                                      device const float* weight [[buffer(3)]],
                                      device float* output [[buffer(4)]],
                                      constant RmsNormBackwardArgs& args [[buffer(5)]],
                                      MLXN_ROW_ARGUMENTS) {
  const ulong begin = static_cast<ulong>(group) * args.dim;
  device const float* x = input + begin;
  device const float* dy = gradient + begin;
  const float r = inverse[group];
  Accumulator products = 0;
  for (uint i = first; i < args.dim; i += step) products += dy[i] * x[i] * weight[i];
  const float sum = threadgroup_sum(products, scratch, MLXN_ROW_PLACE);
  const float share = sum * r * r / static_cast<float>(args.dim);
  for (uint i = first; i < args.dim; i += step) {
    (output + begin)[i] = r * (dy[i] * weight[i] - x[i] * share);
  }
}

// Sums of 64 rows, and their sums, so that many rows keep their digits.
[[kernel]] void rms_norm_weight_backward_f32(device const float* input [[buffer(0)]],
                                             device const float* gradient [[buffer(1)]],
                                             device const float* inverse [[buffer(2)]],
                                             device float* output [[buffer(3)]],
                                             constant RmsNormBackwardArgs& args [[buffer(4)]],
                                             uint i [[thread_position_in_grid]]) {
  if (i >= args.dim) return;
  device const float* x = input + i;
  device const float* dy = gradient + i;
  Accumulator total = 0;
  for (uint begin = 0; begin < args.rows; begin += 64) {
    const uint count = min(args.rows - begin, 64u);
    Accumulator part = 0;
    for (uint j = 0; j < count; ++j) {
      const ulong at = static_cast<ulong>(begin + j) * args.dim;
      part += dy[at] * x[at] * inverse[begin + j];
    }
    total += part;
    if (count < 64) break;  // the next begin may not fit
  }
  output[i] = total;
}
