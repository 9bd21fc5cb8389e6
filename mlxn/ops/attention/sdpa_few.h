// MSL: one query with some of the heads that share a head of keys, by a threadgroup of four
// simdgroups. Chunks of keys are dealt out to them in turn; in the end their results are put
// together, relative to the largest score of all.
#pragma once

#include "mlxn/ops/attention/sdpa_rows.h"

// What a threadgroup keeps of M heads of up to D elements.
template <uint D, uint M>
struct SdpaFew {
  float rows[M * D];  // queries, then results
  float weights[kSdpaSimdgroups * M * kSdpaKeys];
  float most[kSdpaSimdgroups * M], totals[kSdpaSimdgroups * M];  // of each simdgroup

  float most_of(uint m) const threadgroup {
    float all = most[m];
    for (uint i = 1; i < kSdpaSimdgroups; ++i) all = max(all, most[i * M + m]);
    return all;
  }
};

// Elements of a key that are multiplied without a look at how many there are.
constant constexpr uint kKeyPart = 128;

// The product of a key with each of M queries, put at thread `place`.
template <uint D, uint M, typename Heads>
inline void score_key(thread float (&scores)[M], thread const Heads& heads, uint key, uint dim,
                      threadgroup const float* queries, uint place, uint lane) {
  Accumulator sums[M];
#pragma unroll
  for (uint m = 0; m < M; ++m) sums[m] = 0.0f;
  uint begin = 0;
  for (; begin + kKeyPart <= dim; begin += kKeyPart) {
#pragma unroll
    for (uint c = 0; c < kKeyPart; c += 32) {
      const float element = heads.key(key, begin + c, lane);
#pragma unroll
      for (uint m = 0; m < M; ++m) {
        sums[m] = fma((queries + m * D + begin + c)[lane], element, sums[m]);
      }
    }
  }
  for (; begin < dim; begin += 32) {
    float element = 0;
    if (begin + 32 <= dim) {
      element = heads.key(key, begin, lane);
    } else if (begin + lane < dim) {
      element = heads.key(key, begin, lane);
    }
#pragma unroll
    for (uint m = 0; m < M; ++m) sums[m] = fma((queries + m * D + begin)[lane], element, sums[m]);
  }
#pragma unroll
  for (uint m = 0; m < M; ++m) {
    const float score = simd_sum(static_cast<float>(sums[m]));
    scores[m] = lane == place ? score : scores[m];
  }
}

template <uint D, uint M>
inline void stage_queries(threadgroup SdpaFew<D, M>& few, thread const SdpaBuffers& buffers,
                          constant SdpaArgs& args, uint3 group, uint lane, uint simdgroup) {
  for (uint m = simdgroup; m < M; m += kSdpaSimdgroups) {
    const SdpaRow row(args, group.z, group.y, min(group.x * M + m, args.share - 1));
    for (uint c = 0; c < args.dim; c += 32) {
      float element = 0;
      if (c + lane < args.dim) {
        element = load_float(buffers.query, row.at(args.query) + c + lane, args.query_type);
      }
      (few.rows + m * D + c)[lane] = element;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

// Puts the simdgroups' sums together in few.rows.
template <uint D, uint M>
inline void merge_sums(threadgroup SdpaFew<D, M>& few, thread const Accumulator* sums,
                       thread const SdpaState (&states)[M], uint dim, uint lane, uint simdgroup) {
  for (uint m = 0; m < M; ++m) {
    const float total = simd_sum(static_cast<float>(states[m].total));
    if (lane == 0) {
      few.most[simdgroup * M + m] = states[m].most;
      few.totals[simdgroup * M + m] = total;
    }
  }
  for (uint s = 0; s < kSdpaSimdgroups; ++s) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint m = 0; m < M && s == simdgroup; ++m) {
      const float most = few.most_of(m);
      const float factor = most == -INFINITY ? 0.0f : exp(states[m].most - most);
      for (uint c = 0; c < dim; c += 32) {
        threadgroup float* to = few.rows + m * D + c;
        const float before = s == 0 ? 0.0f : to[lane];
        to[lane] = fma(static_cast<float>(sums[c / 32 * M + m]), factor, before);
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

// The heads of a threadgroup, past the last one it again.
template <typename Seen>
struct FewRows {
  constant SdpaArgs* args;
  Seen keys;
  uint batch, kv_head, first;

  SdpaRow row(uint m) const {
    return SdpaRow(*args, batch, kv_head, min(first + m, args->share - 1));
  }
  bool seen(uint, ulong key) const { return keys.has(key); }
};

// `seen` says which keys the query sees, from seen.first up to seen.end.
template <uint D, uint M, typename Heads, typename Seen>
inline void attend_few(threadgroup SdpaFew<D, M>& few, thread const Heads& heads, Seen seen,
                       thread const SdpaBuffers& buffers, constant SdpaArgs& args, uint3 group,
                       uint lane, uint simdgroup) {
  stage_queries(few, buffers, args, group, lane, simdgroup);
  threadgroup float* weights = few.weights + simdgroup * M * kSdpaKeys;
  Accumulator sums[D / 32 * M];
  for (uint i = 0; i < D / 32 * M; ++i) sums[i] = 0.0f;
  SdpaState states[M];
  const ulong first_chunk = seen.first / kSdpaKeys;
  const uint turn = static_cast<uint>(first_chunk % kSdpaSimdgroups);
  const bool with_mask = args.mask_type < 4;
  const FewRows<Seen> rows = {&args, seen, group.z, group.y, group.x * M};
  for (ulong c = first_chunk + (simdgroup + kSdpaSimdgroups - turn) % kSdpaSimdgroups;
       c * kSdpaKeys < seen.end; c += kSdpaSimdgroups) {
    const ulong start = c * kSdpaKeys;
    const SdpaChunk chunk = {start, args.keys - 1};
    float scores[M];
#pragma unroll
    for (uint m = 0; m < M; ++m) scores[m] = 0;
    for (uint j = 0; j < kSdpaKeys; ++j) {
      score_key<D, M>(scores, heads, chunk.key(j), args.dim, few.rows, j, lane);
    }
    finish_scores(scores, rows, buffers, args, start + lane, with_mask);
    float rescale[M];
#pragma unroll
    for (uint m = 0; m < M; ++m) {
      float weight;
      rescale[m] = states[m].add(scores[m], weight);
      (weights + m * kSdpaKeys)[lane] = weight;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const bool plain = !with_mask && seen.has_chunk(start);
    add_all_values<D>(sums, rescale, heads, args.value_dim, chunk, weights, plain, lane);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }

  merge_sums(few, sums, states, args.value_dim, lane, simdgroup);
  for (uint m = simdgroup; m < min(M, args.share - group.x * M); m += kSdpaSimdgroups) {
    const SdpaRow row(args, group.z, group.y, group.x * M + m);
    const float before = few.most_of(m);  // what the sums are relative to
    const float all = args.has_sinks != 0 ? max(before, buffers.sinks[row.head]) : before;
    const float from = all == -INFINITY ? 0.0f : all;
    float total = 0;
    for (uint i = 0; i < kSdpaSimdgroups; ++i) {
      total += few.totals[i * M + m] * exp(few.most[i * M + m] - from);
    }
    if (args.has_sinks != 0) total += exp(buffers.sinks[row.head] - from);
    const float rescale = exp(before - from);
    for (uint c = 0; c < args.value_dim; c += 32) {
      if (c + lane >= args.value_dim) continue;
      store_float(buffers.output, row.at(args.output) + c + lane, args.output_type,
                  sdpa_result((few.rows + m * D + c)[lane], rescale, total));
    }
  }
}
