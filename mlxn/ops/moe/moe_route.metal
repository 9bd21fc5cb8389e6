// moe_route_f32: experts of each token and their weights, by logits.
// Buffers: 0 logits [tokens, experts], 1 bias and 2 scales [experts] (anything where they are left
// out), 3 ids and 4 weights [tokens, selected], 5 MoeRouteArgs. Grid: a threadgroup of 32 threads
// for each token. Threadgroup memory 0: a float, and 1: a word for each expert.
// moe_gate_{f32,f16,bf16}: the same by logits that are products of a router's rows and the RMS norm
// of the token. Buffers: 0 hidden [tokens, dim], 1 norm weight [dim], 2 router [experts, dim] and
// 3 bias, 4 scales, 5 ids, 6 weights, 7 MoeGateArgs. Grid and memory as above, but any multiple of
// 32 threads: experts' logits are shared out among the simdgroups.
#include "mlxn/ops/moe/moe_select.h"

// What a token's choice needs and gives.
struct MoeOutput {
  device uint* ids;
  device float* weights;
  uint token;
};

inline void store(MoeScratch scratch, MoeOutput to, constant MoeRouteArgs& args, uint lane) {
  const ulong row = static_cast<ulong>(to.token) * args.selected;
  for (uint i = lane; i < args.selected; i += 32) {
    (to.ids + row)[i] = scratch.ids[i];
    (to.weights + row)[i] = scratch.chosen[i];
  }
}

[[kernel, max_total_threads_per_threadgroup(32)]] void moe_route_f32(
    device const float* logits [[buffer(0)]], device const float* bias [[buffer(1)]],
    device const float* scales [[buffer(2)]], device uint* ids [[buffer(3)]],
    device float* weights [[buffer(4)]], constant MoeRouteArgs& args [[buffer(5)]],
    threadgroup float* scores [[threadgroup(0)]], threadgroup uint* keys [[threadgroup(1)]],
    uint token [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float chosen[kMoeMostSelected];
  threadgroup uint chosen_ids[kMoeMostSelected];
  const MoeScratch scratch = {scores, keys, chosen, chosen_ids};
  device const float* row = logits + static_cast<ulong>(token) * args.experts;
  for (uint e = lane; e < args.experts; e += 32) scores[e] = row[e];
  simdgroup_barrier(mem_flags::mem_threadgroup);
  choose(scratch, {bias, scales}, args, lane);
  store(scratch, {ids, weights, token}, args, lane);
}

template <typename T>
[[kernel]] void moe_gate(
    device const T* hidden [[buffer(0)]], device const float* norm_weight [[buffer(1)]],
    device const float* router [[buffer(2)]], device const float* bias [[buffer(3)]],
    device const float* scales [[buffer(4)]], device uint* ids [[buffer(5)]],
    device float* weights [[buffer(6)]], constant MoeGateArgs& args [[buffer(7)]],
    threadgroup float* scores [[threadgroup(0)]], threadgroup uint* keys [[threadgroup(1)]],
    uint token [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup float chosen[kMoeMostSelected];
  threadgroup uint chosen_ids[kMoeMostSelected];
  const MoeScratch scratch = {scores, keys, chosen, chosen_ids};
  device const T* x = hidden + static_cast<ulong>(token) * args.dim;
  Accumulator squares = 0;
  for (uint i = lane; i < args.dim; i += 32) {
    squares += static_cast<float>(x[i]) * static_cast<float>(x[i]);
  }
  const float mean = simd_sum(static_cast<float>(squares)) / static_cast<float>(args.dim);
  const float inverse = 1.0f / sqrt(mean + args.eps);
  for (uint e = simdgroup; e < args.route.experts; e += simdgroups) {
    device const float* row = router + static_cast<ulong>(e) * args.dim;
    Accumulator product = 0;
    for (uint i = lane; i < args.dim; i += 32) {
      product += static_cast<float>(x[i]) * norm_weight[i] * row[i];
    }
    const float logit = simd_sum(static_cast<float>(product)) * inverse;
    if (lane == 0) scores[e] = logit;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup != 0) return;
  choose(scratch, {bias, scales}, args.route, lane);
  store(scratch, {ids, weights, token}, args.route, lane);
}

MLXN_KERNEL("moe_gate_f32", moe_gate, float);
MLXN_KERNEL("moe_gate_f16", moe_gate, half);
MLXN_KERNEL("moe_gate_bf16", moe_gate, bfloat);
