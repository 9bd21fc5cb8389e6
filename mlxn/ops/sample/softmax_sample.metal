// softmax_sample_f32: a token of each row by its probability and a random number.
// Buffers: 0 logits [rows, dim], 1 uniforms, 2 tokens, 3 logprobs [rows], 4 SoftmaxSampleArgs.
// Grid: one threadgroup for each row, a power of two of threads. Threadgroup memory 0: a float for
// each thread. Rows come in at most kSegments segments: their sums are scanned first, then the one
// segment that holds the token. The order of sums depends on the row's length alone.
#include "mlxn/ops/common/reduce.h"
#include "mlxn/ops/sample/sorted_rows_args.h"

constant constexpr uint kSegments = 1024;

// Of an element, where the largest one is `most`: exp((x - most) / temperature).
struct Weights {
  float most, temperature;
  float of(float x) const {
    const float infinite = x == most ? 1.0f : 0.0f;
    const float weight = most == INFINITY ? infinite : exp((x - most) / temperature);
    return x > -INFINITY ? weight : 0.0f;  // not for NaN
  }
};

inline float segment_sum(device const float* x, uint length, Weights weights, uint lane) {
  Accumulator sum = 0;
  for (uint i = lane; i < length; i += 32) sum += weights.of(x[i]);
  return simd_sum(static_cast<float>(sum));
}

// The first element at which the sum from `sum` on exceeds the target; else the last with a weight.
inline uint find(device const float* x, uint length, Weights weights, float sum, float target,
                 uint lane) {
  uint last = 0;
  for (uint i = 0; i < length; i += 32) {
    const float weight = i + lane < length ? weights.of((x + i)[lane]) : 0.0f;
    const float upto = sum + simd_prefix_inclusive_sum(weight);
    const bool found = weight > 0 && upto > target;
    const uint first = simd_min(found ? i + lane : ~0u);
    if (first != ~0u) return first;
    last = max(last, simd_max(weight > 0 ? i + lane : 0u));
    sum += simd_sum(weight);
  }
  return last;
}

[[kernel]] void softmax_sample_f32(
    device const float* logits [[buffer(0)]], device const float* uniforms [[buffer(1)]],
    device uint* tokens [[buffer(2)]], device float* logprobs [[buffer(3)]],
    constant SoftmaxSampleArgs& args [[buffer(4)]], threadgroup float* scratch [[threadgroup(0)]],
    uint row [[threadgroup_position_in_grid]], uint first [[thread_index_in_threadgroup]],
    uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup float sums[kSegments];
  device const float* x = logits + static_cast<ulong>(row) * args.dim;
  float most = -INFINITY;
  for (uint i = first; i < args.dim; i += threads) most = x[i] > most ? x[i] : most;
  most = threadgroup_max(most, scratch, Place{lane, simdgroup, simdgroups});
  const Weights weights = {most, args.temperature};

  const uint length = ((args.dim - 1) / kSegments + 32) / 32 * 32;
  const uint segments = (args.dim - 1) / length + 1;
  for (uint s = simdgroup; s < segments; s += simdgroups) {
    const float sum =
        segment_sum(x + s * length, min(length, args.dim - s * length), weights, lane);
    if (lane == 0) sums[s] = sum;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup != 0) return;
  Accumulator total = 0;
  for (uint s = 0; s < segments; ++s) total += sums[s];

  const float uniform = uniforms[row];
  const float target = (uniform > 0 ? min(uniform, 1.0f) : 0.0f) * total;
  Accumulator sum = 0;
  uint segment = 0;
  float before = 0;
  for (uint s = 0; s < segments; ++s) {
    const bool holds = sums[s] > 0 && sum <= target;  // the last one of these
    segment = holds ? s : segment;
    before = holds ? static_cast<float>(sum) : before;
    sum += sums[s];
  }
  const uint begin = segment * length;
  const uint token =
      begin + find(x + begin, min(length, args.dim - begin), weights, before, target, lane);
  if (lane != 0) return;
  const bool any = most > -INFINITY;
  const float above = most == INFINITY ? 0.0f : (x[token] - most) / args.temperature;
  tokens[row] = any ? token : 0;
  logprobs[row] = any ? above - log(static_cast<float>(total)) : -INFINITY;
}
