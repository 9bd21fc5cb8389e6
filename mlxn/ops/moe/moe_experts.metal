// moe_experts_hidden_f32: hidden = act(gate x) * (up x). Buffers: 0 gate and 1 up [inner, dim],
// 2 input [dim], 3 hidden [inner], 4 MoeExpertArgs. Grid: threadgroups of 32 threads, one for each
// row of the matrices.
// moe_experts_down_f32: output = or += weight * down hidden. Buffers: 0 down [dim, inner],
// 1 hidden [inner], 2 output [dim], 3 MoeExpertArgs. Grid: one for each row of down.
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/moe/moe_args.h"

inline float dot(device const float* row, device const float* x, uint count, uint lane) {
  Accumulator sum = 0;
  for (uint i = lane; i < count; i += 32) sum += row[i] * x[i];
  return simd_sum(static_cast<float>(sum));
}

[[kernel, max_total_threads_per_threadgroup(32)]] void moe_experts_hidden_f32(
    device const float* gate [[buffer(0)]], device const float* up [[buffer(1)]],
    device const float* input [[buffer(2)]], device float* hidden [[buffer(3)]],
    constant MoeExpertArgs& args [[buffer(4)]], uint row [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  const ulong begin = static_cast<ulong>(row) * args.dim;
  const float g = dot(gate + begin, input, args.dim, lane);
  const float u = dot(up + begin, input, args.dim, lane);
  if (lane != 0) return;
  const float inner = 0.7978845608028654f * (g + 0.044715f * g * g * g);
  const float gelu = g / (1.0f + exp(-2.0f * inner));  // (1 + tanh(inner)) / 2
  const float silu = g / (1.0f + exp(-g));
  hidden[row] = (args.activation == 0 ? gelu : silu) * u;
}

[[kernel, max_total_threads_per_threadgroup(32)]] void moe_experts_down_f32(
    device const float* down [[buffer(0)]], device const float* hidden [[buffer(1)]],
    device float* output [[buffer(2)]], constant MoeExpertArgs& args [[buffer(3)]],
    uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const float sum = dot(down + static_cast<ulong>(row) * args.inner, hidden, args.inner, lane);
  if (lane != 0) return;
  const float before = args.first != 0 ? 0.0f : output[row];
  output[row] = before + args.weight * sum;
}
