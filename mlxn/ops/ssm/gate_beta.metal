// gate_beta_f32: gate = softplus(alpha + bias) * -a, beta = sigmoid(logit). Buffers: 0 alpha and
// 1 logits [tokens, heads], 2 bias and 3 a [heads], 4 gate, 5 beta, 6 GateBetaArgs. Grid: a thread
// for each, (heads, tokens); any threadgroup of one row. In place is allowed.
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/ssm/gate_beta_args.h"

// ln(1 + e^x): what is lost to rounding beside 1 comes back by the quotient.
inline float softplus(float x) {
  const float power = precise::exp(-abs(x)), sum = 1.0f + power;
  const float lost = sum == 1.0f ? power : precise::log(sum) * (power / (sum - 1.0f));
  return max(x, 0.0f) + lost;
}

[[kernel]] void gate_beta_f32(device const float* alpha [[buffer(0)]],
                              device const float* logits [[buffer(1)]],
                              device const float* bias [[buffer(2)]],
                              device const float* a [[buffer(3)]], device float* gate [[buffer(4)]],
                              device float* beta [[buffer(5)]],
                              constant GateBetaArgs& args [[buffer(6)]],
                              uint2 place [[thread_position_in_grid]]) {
  const ulong row = static_cast<ulong>(place.y) * args.heads;
  const uint h = place.x;
  const float x = (alpha + row)[h] + bias[h], logit = (logits + row)[h];
  (gate + row)[h] = softplus(x) * -a[h];
  (beta + row)[h] = 1.0f / (1.0f + precise::exp(-logit));
}
