// attention_{64,96,128,256}_{f32,f16}: softmax(scale * q k^T) v for heads of up to that many
// elements, with a cache of that type. Buffers: 0 queries [tokens, heads, dim], 1 cache of keys, 2
// cache of values, 3 positions and 4 sequences [tokens], 5 output [tokens, heads, dim], 6
// AttentionArgs. Grid: threadgroups of 32 threads, (heads, tokens). The output may be the queries.
// dim is a multiple of 8.
//
// Keys come in tiles of 32 positions. Thread t first makes the score of position t of the tile,
// then sums up elements t, t + 32, ... of the result. A running maximum keeps exponents small:
// whatever was summed before is scaled down when a tile has a larger score. Positions outside what
// a token sees are neither counted nor multiplied, so what the cache holds there does not matter.
#include "mlxn/ops/attention/attention_args.h"
#include "mlxn/ops/kv/kv_layout.h"

constant constexpr uint kLanes = kAttentionThreads;
static_assert(kKvTile == kLanes, "a thread for each position of a tile");

// Adds the products of `Count` elements of a query with this thread's key of a tile.
template <uint Count, typename T>
inline void add_products(thread float (&sums)[4], threadgroup const float* query,
                         device const T* keys) {
#pragma unroll
  for (uint d = 0; d < Count; ++d) {
    sums[d % 4] = fma(query[d], static_cast<float>(keys[d * kKvTile]), sums[d % 4]);
  }
}

// The dot product of a query with this thread's key of a tile.
template <typename T>
inline float dot_of(threadgroup const float* query, device const T* keys, uint dim) {
  float sums[4] = {0, 0, 0, 0};
  uint d = 0;
  for (; d + 32 <= dim; d += 32) add_products<32>(sums, query + d, keys + d * kKvTile);
  for (; d < dim; d += 8) add_products<8>(sums, query + d, keys + d * kKvTile);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

inline float capped(float score, float cap) {
  return cap > 0 ? cap * precise::tanh(score / cap) : score;
}

// What a token has seen so far: elements lane, lane + 32, ... of the result, unscaled.
template <uint N>
struct Seen {
  float most = -INFINITY;  // score
  float total = 0;         // of this thread's weights
  float values[N] = {0};
};

// Adds the values of `Count` positions with their weights. Whole: all N * 32 elements are there.
template <uint Count, bool Whole, typename T, uint N>
inline void add_values(thread Seen<N>& seen, threadgroup const float* weights,
                       device const T* values, uint dim, uint lane) {
#pragma unroll
  for (uint p = 0; p < Count; ++p) {
    for (uint i = 0; i < N; ++i) {
      if (Whole || i * kLanes + lane < dim) {
        seen.values[i] =
            fma(weights[p], static_cast<float>(values[p * dim + i * kLanes]), seen.values[i]);
      }
    }
  }
}

// The same for positions first to last of a tile.
template <bool Whole, typename T, uint N>
inline void add_tile(thread Seen<N>& seen, threadgroup const float* weights, device const T* values,
                     uint dim, uint first, uint last, uint lane) {
  uint p = first;
  for (; p + 8 <= last + 1; p += 8) {
    add_values<8, Whole>(seen, weights + p, values + p * dim, dim, lane);
  }
  for (; p <= last; ++p) add_values<1, Whole>(seen, weights + p, values + p * dim, dim, lane);
}

template <typename T, uint D>
[[kernel, max_total_threads_per_threadgroup(32)]] void attention(
    device const float* queries [[buffer(0)]], device const T* key_cache [[buffer(1)]],
    device const T* value_cache [[buffer(2)]], device const uint* positions [[buffer(3)]],
    device const uint* sequences [[buffer(4)]], device float* output [[buffer(5)]],
    constant AttentionArgs& args [[buffer(6)]], uint2 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  constexpr uint N = D / kLanes;
  threadgroup float query[D], weights[kKvTile];
  const uint head = group.x, token = group.y, dim = args.dim;
  const uint position = positions[token], sequence = sequences[token];
  const uint kv_head = head / (args.heads / args.kv_heads);
  const ulong at = (static_cast<ulong>(token) * args.heads + head) * dim;
  for (uint i = 0; i < N; ++i) {
    const uint d = i * kLanes + lane;
    if (d < dim) query[d] = queries[at + d] * args.scale;
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);

  const uint window = args.window == 0 ? args.capacity : min(args.window, args.capacity);
  const uint first = position < window ? 0 : position - window + 1;
  const bool known = sequence < args.sequences;
  Seen<N> seen;
  for (uint tile = first / kKvTile; known && tile <= position / kKvTile; ++tile) {
    const ulong begin = kv_tile(sequence, kv_head, tile % (args.capacity / kKvTile), args.kv_heads,
                                args.capacity, dim);
    const uint low = max(first, tile * kKvTile) - tile * kKvTile;
    const uint high = min(position, tile * kKvTile + kKvTile - 1) - tile * kKvTile;
    const bool visible = lane >= low && lane <= high;
    const float dot = dot_of(query, key_cache + begin + lane, dim);
    const float score = visible ? capped(dot, args.soft_cap) : -INFINITY;
    const float most = max(seen.most, simd_max(score));
    const float rescale = exp(seen.most - most);
    const float weight = visible ? exp(score - most) : 0.0f;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    weights[lane] = weight;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    seen.most = most;
    seen.total = fma(seen.total, rescale, weight);
    for (uint i = 0; i < N; ++i) seen.values[i] *= rescale;
    device const T* values = value_cache + begin + lane;
    if (dim == D) {
      add_tile<true>(seen, weights, values, D, low, high, lane);
    } else {
      add_tile<false>(seen, weights, values, dim, low, high, lane);
    }
  }
  const float total = simd_sum(seen.total);
  for (uint i = 0; i < N; ++i) {
    const uint d = i * kLanes + lane;
    if (d < dim) output[at + d] = known ? seen.values[i] / total : 0.0f;
  }
}

MLXN_KERNEL("attention_64_f32", attention, float, 64);
MLXN_KERNEL("attention_64_f16", attention, half, 64);
MLXN_KERNEL("attention_96_f32", attention, float, 96);
MLXN_KERNEL("attention_96_f16", attention, half, 96);
MLXN_KERNEL("attention_128_f32", attention, float, 128);
MLXN_KERNEL("attention_128_f16", attention, half, 128);
MLXN_KERNEL("attention_256_f32", attention, float, 256);
MLXN_KERNEL("attention_256_f16", attention, half, 256);
