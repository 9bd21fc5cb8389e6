// MSL: experts of a token chosen by their logits, by one simdgroup.
#pragma once

#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/moe/moe_args.h"

// Larger values have larger keys; 0 is kept for what is taken, 1 is NaN.
inline uint rank_key(float value) {
  const uint bits = as_type<uint>(value), magnitude = bits & 0x7fffffffu;
  const bool negative = bits != magnitude && magnitude != 0;
  const uint key = negative ? ~bits : magnitude | 0x80000000u;
  return magnitude > 0x7f800000u ? 1u : key;
}

// Threadgroup memory for the choice of one token.
struct MoeScratch {
  threadgroup float* scores;  // of each expert: logits, then probabilities or sigmoids
  threadgroup uint* keys;     // what experts are chosen by
  threadgroup float* chosen;  // scores of the chosen ones
  threadgroup uint* ids;
};

struct MoeTables {
  device const float* bias;
  device const float* expert_scale;
};

inline void make_scores(MoeScratch scratch, constant MoeRouteArgs& args, uint lane) {
  if (args.scoring == kMoeSigmoid) {
    for (uint e = lane; e < args.experts; e += 32) {
      scratch.scores[e] = 1.0f / (1.0f + exp(-scratch.scores[e]));
    }
  }
  if (args.scoring == kMoeSoftmax) {
    float most = -INFINITY;
    for (uint e = lane; e < args.experts; e += 32) most = max(most, scratch.scores[e]);
    most = simd_max(most);
    Accumulator total = 0;
    for (uint e = lane; e < args.experts; e += 32) total += exp(scratch.scores[e] - most);
    const float sum = simd_sum(static_cast<float>(total));
    for (uint e = lane; e < args.experts; e += 32) {
      scratch.scores[e] = exp(scratch.scores[e] - most) / sum;
    }
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
}

// The lowest place of the largest key of [begin, end), leaving out one place.
inline uint best_of(threadgroup const uint* keys, uint begin, uint end, uint left_out, uint lane) {
  uint most = 0;
  for (uint e = begin + lane; e < end; e += 32) most = max(most, e == left_out ? 0u : keys[e]);
  most = simd_max(most);
  uint at = ~0u;
  for (uint e = begin + lane; e < end; e += 32) {
    at = keys[e] == most && e != left_out ? min(at, e) : at;
  }
  return simd_min(at);
}

// Only experts of the groups with the largest sums of their best ones (one or two) keep their keys.
inline void keep_groups(MoeScratch scratch, MoeTables tables, constant MoeRouteArgs& args,
                        uint lane) {
  const uint size = args.experts / args.groups;
  uint own_key = 0;  // lane g: of group g
  for (uint g = 0; g < args.groups; ++g) {
    float sum = 0;
    uint taken = ~0u;
    for (uint n = 0; n < args.best_of_group; ++n) {
      taken = best_of(scratch.keys, g * size, (g + 1) * size, taken, lane);
      sum += scratch.scores[taken] + (args.has_bias != 0 ? tables.bias[taken] : 0.0f);
    }
    own_key = lane == g ? rank_key(sum) : own_key;
  }
  uint kept = 0;
  for (uint n = 0; n < args.kept_groups; ++n) {
    const uint most = simd_max(own_key);
    const uint at = simd_min(own_key == most ? lane : ~0u);
    kept |= 1u << at;
    own_key = lane == at ? 0 : own_key;
  }
  for (uint e = lane; e < args.experts; e += 32) {
    if ((kept >> (e / size) & 1) == 0) scratch.keys[e] = 0;
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
}

// The weights of the chosen ones, of whose scores the largest is `most`.
inline void weigh(MoeScratch scratch, MoeTables tables, constant MoeRouteArgs& args, float most,
                  uint lane) {
  Accumulator total = 0, scaled_total = 0;
  for (uint i = lane; i < args.selected; i += 32) {
    float value = scratch.chosen[i];
    if (args.scoring == kMoeSoftmaxOfSelected) value = exp(value - most);
    const float scale = args.has_expert_scale != 0 ? tables.expert_scale[scratch.ids[i]] : 1.0f;
    total += value;
    scaled_total += value * scale;
    scratch.chosen[i] = value * scale;
  }
  const float sum = simd_sum(static_cast<float>(total));
  const float scaled_sum = simd_sum(static_cast<float>(scaled_total));
  // A softmax of the selected is divided by its sum in any case.
  float divisor = args.scoring == kMoeSoftmaxOfSelected ? sum : 1.0f;
  if (args.renormalise != 0) divisor = args.scale_first != 0 ? scaled_sum : sum;
  divisor = divisor == 0 ? 1.0f : divisor;  // all of them are 0 and stay so
  for (uint i = lane; i < args.selected; i += 32) {
    scratch.chosen[i] = scratch.chosen[i] / divisor * args.scale;
  }
}

// Leaves in scratch the ids, best first, and weights of the experts for the logits in its scores.
inline void choose(MoeScratch scratch, MoeTables tables, constant MoeRouteArgs& args, uint lane) {
  // By the logits themselves where scores have their order: those may be rounded to the same.
  const bool by_score = args.has_bias != 0 || args.groups > 1;
  if (!by_score) {
    for (uint e = lane; e < args.experts; e += 32) scratch.keys[e] = rank_key(scratch.scores[e]);
  }
  make_scores(scratch, args, lane);
  if (by_score) {
    for (uint e = lane; e < args.experts; e += 32) {
      const float bias = args.has_bias != 0 ? tables.bias[e] : 0.0f;
      scratch.keys[e] = rank_key(scratch.scores[e] + bias);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (args.groups > 1) keep_groups(scratch, tables, args, lane);
  float most = -INFINITY;
  for (uint i = 0; i < args.selected; ++i) {
    const uint at = best_of(scratch.keys, 0, args.experts, ~0u, lane);
    const float own = scratch.scores[at];
    most = max(most, own);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0) {
      scratch.keys[at] = 0;
      scratch.chosen[i] = own;
      scratch.ids[i] = at;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  weigh(scratch, tables, args, most, lane);
}
