// moe_route_f32: experts of each token and their weights, by logits.
// Buffers: 0 logits [tokens, experts], 1 bias and 2 scales [experts] (anything where they are left
// out), 3 ids and 4 weights [tokens, selected], 5 MoeRouteArgs. Grid: a threadgroup of 32 threads
// for each token. Threadgroup memory 0: a float, and 1: a word for each expert.
// moe_gate_{f32,f16,bf16}: the same by logits that are products of a router's rows and the RMS norm
// of the token. Buffers: 0 hidden [tokens, dim], 1 norm weight [dim], 2 router [experts, dim] and
// 3 bias, 4 scales, 5 ids, 6 weights, 7 MoeGateArgs. Grid: a threadgroup of any multiple of 32
// threads for one or kMoeGateTokens tokens: experts' logits are shared out among the simdgroups.
// Memory as above, but a float for each expert of each of the tokens.
#include "mlxn/ops/common/reduce.h"
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

// Adds a column's products of kTokens tokens and kExperts rows.
template <typename T, uint kTokens, uint kExperts>
inline void add_products(device const T* x, float norm_weight, device const float* row, uint dim,
                         uint last, thread Accumulator* products) {
  float factors[kExperts];
  for (uint k = 0; k < kExperts; ++k) factors[k] = row[static_cast<ulong>(min(k, last)) * dim];
  for (uint t = 0; t < kTokens; ++t) {
    const float weighted = static_cast<float>(x[static_cast<ulong>(t) * dim]) * norm_weight;
    for (uint k = 0; k < kExperts; ++k) products[t * kExperts + k] += weighted * factors[k];
  }
}

// Of kTokens tokens, kExperts experts of theirs at a time for each simdgroup: a row of the router
// is read once for all the tokens, and a token once for all the experts.
template <typename T, uint kTokens, uint kExperts>
inline void make_logits(device const T* x, device const float* norm_weight,
                        device const float* router, constant MoeGateArgs& args,
                        threadgroup float* scores, Place place) {
  const uint dim = args.dim, experts = args.route.experts;
  float inverse[kTokens];
  for (uint t = 0; t < kTokens; ++t) {
    device const T* own = x + static_cast<ulong>(t) * dim;
    Accumulator squares = 0;
    for (uint i = place.lane; i < dim; i += 32) {
      squares += static_cast<float>(own[i]) * static_cast<float>(own[i]);
    }
    const float mean = simd_sum(static_cast<float>(squares)) / static_cast<float>(dim);
    inverse[t] = 1.0f / sqrt(mean + args.eps);
  }
  for (uint e = kExperts * place.simdgroup; e < experts; e += kExperts * place.simdgroups) {
    const uint last = experts - 1 - e;  // in place of the rows behind it
    device const float* row = router + static_cast<ulong>(e) * dim;
    Accumulator products[kTokens * kExperts];
    for (uint n = 0; n < kTokens * kExperts; ++n) products[n] = 0;
    for (uint i = place.lane; i < dim; i += 32) {
      add_products<T, kTokens, kExperts>(x + i, norm_weight[i], row + i, dim, last, products);
    }
    for (uint n = 0; n < kTokens * kExperts; ++n) {
      const uint t = n / kExperts, k = n % kExperts;
      const float logit = simd_sum(static_cast<float>(products[n])) * inverse[t];
      if (place.lane == 0 && k <= last) scores[t * experts + e + k] = logit;
    }
  }
}

template <typename T>
[[kernel]] void moe_gate(
    device const T* hidden [[buffer(0)]], device const float* norm_weight [[buffer(1)]],
    device const float* router [[buffer(2)]], device const float* bias [[buffer(3)]],
    device const float* scales [[buffer(4)]], device uint* ids [[buffer(5)]],
    device float* weights [[buffer(6)]], constant MoeGateArgs& args [[buffer(7)]],
    threadgroup float* scores [[threadgroup(0)]], threadgroup uint* keys [[threadgroup(1)]],
    uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup float chosen[kMoeMostSelected];
  threadgroup uint chosen_ids[kMoeMostSelected];
  const uint first = group * args.together, count = min(args.together, args.tokens - first);
  const uint experts = args.route.experts;
  device const T* x = hidden + static_cast<ulong>(first) * args.dim;
  const Place place = {lane, simdgroup, simdgroups};
  if (count == kMoeGateTokens) {
    make_logits<T, kMoeGateTokens, 4>(x, norm_weight, router, args, scores, place);
  } else {
    for (uint t = 0; t < count; ++t) {
      make_logits<T, 1, 4>(x + static_cast<ulong>(t) * args.dim, norm_weight, router, args,
                           scores + t * experts, place);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup != 0) return;
  for (uint t = 0; t < count; ++t) {
    const MoeScratch scratch = {scores + t * experts, keys, chosen, chosen_ids};
    choose(scratch, {bias, scales}, args.route, lane);
    store(scratch, {ids, weights, first + t}, args.route, lane);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
}

MLXN_KERNEL("moe_gate_f32", moe_gate, float);
MLXN_KERNEL("moe_gate_f16", moe_gate, half);
MLXN_KERNEL("moe_gate_bf16", moe_gate, bfloat);
