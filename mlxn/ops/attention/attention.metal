// attention_{1,4,8}_{64,96,128,256}_f16, attention_8_{64,96,128,256}_f32: softmax(scale * q k^T) v
// for up to so many rows at once, of heads of up to so many elements, with a cache of that type.
// Buffers: 0 queries [tokens, heads, dim], 1 cache of keys, 2 cache of values, 3 positions and 4
// sequences [tokens], 5 output [tokens, heads, dim], 6 AttentionArgs. Grid: threadgroups of 32
// threads, (kv heads, shares of args.rows rows). The output may be the queries. dim is a multiple
// of 8.
//
// A row is a token with one of the query heads that share a head of keys; a threadgroup takes rows
// that lie side by side, so that what it reads of the cache serves all of them. Keys come in tiles
// of 32 positions. Thread t first makes the scores of position t of the tile, then sums up elements
// t, t + 32, ... of the results. A running maximum keeps exponents small: whatever was summed
// before is scaled down when a tile has a larger score. Positions outside what a row sees are
// neither counted nor multiplied, so what the cache holds there does not matter, and the bits of a
// row do not depend on the rows beside it.
#include "mlxn/ops/attention/attention_args.h"
#include "mlxn/ops/kv/kv_layout.h"

constant constexpr uint kLanes = kAttentionThreads;
static_assert(kKvTile == kLanes, "a thread for each position of a tile");

// Adds the products of `Count` elements of the queries with this thread's key of a tile.
template <uint Count, uint M, uint D, typename T>
inline void add_products(thread float (&scores)[M], threadgroup const float* queries,
                         device const T* keys) {
#pragma unroll
  for (uint d = 0; d < Count; ++d) {
    const float key = static_cast<float>(keys[d * kKvTile]);
#pragma unroll
    for (uint m = 0; m < M; ++m) scores[m] = fma(queries[m * D + d], key, scores[m]);
  }
}

// The largest number of all lanes. As whole numbers of this kind, numbers keep their order; a NaN
// counts as the largest or the least.
inline float largest_of_simdgroup(float value) {
  const int bits = as_type<int>(value);
  const int most = simd_max(bits ^ (bits >> 31 & 0x7fffffff));
  return as_type<float>(most ^ (most >> 31 & 0x7fffffff));
}

// Positions of a tile: from `first` on, up to `end`.
struct Span {
  uint first, end;
  bool any() const { return first < end; }
  bool has(uint p) const { return first <= p && p < end; }
};

// Adds the values of `Count` positions from `p` on, with their weights, to one element of each
// result; `values` are those of position 0 from thread 0's element on. All: every row sees these
// positions. Whole: all threads have an element, else only the first `left`.
template <uint Count, bool All, bool Whole, uint M, typename T>
inline void add_values(thread float (&sums)[M], threadgroup const float* weights,
                       device const T* values, uint dim, uint p, uint left, uint lane,
                       thread const Span (&rows)[M]) {
#pragma unroll
  for (uint j = 0; j < Count; ++j) {
    device const T* row = values + (p + j) * dim;  // no sum with the lane, which might wrap
    const bool inside = Whole || lane < left;
    const float value = inside ? static_cast<float>(row[lane]) : 0.0f;
#pragma unroll
    for (uint m = 0; m < M; ++m) {
      const float sum = fma(weights[m * kKvTile + p + j], value, sums[m]);
      sums[m] = All || rows[m].has(p + j) ? sum : sums[m];
    }
  }
}

template <typename T, uint D, uint M>
[[kernel, max_total_threads_per_threadgroup(32)]] void attention(
    device const float* queries [[buffer(0)]], device const T* key_cache [[buffer(1)]],
    device const T* value_cache [[buffer(2)]], device const uint* positions [[buffer(3)]],
    device const uint* sequences [[buffer(4)]], device float* output [[buffer(5)]],
    constant AttentionArgs& args [[buffer(6)]], uint2 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float query[M * D], weights[M * kKvTile];
  threadgroup float result[M * D];  // of what was seen so far, unscaled; each element one thread's
  const uint kv_head = group.x, dim = args.dim, share = args.heads / args.kv_heads;
  const uint first_row = group.y * args.rows;
  const uint count = min(args.rows, args.tokens * share - first_row);
  const uint window = args.window == 0 ? args.capacity : min(args.window, args.capacity);

  uint token[M];
  ulong at[M];  // of the row's head
#pragma unroll
  for (uint m = 0; m < M; ++m) {
    const uint row = first_row + min(m, count - 1);
    token[m] = row / share;
    at[m] = (static_cast<ulong>(token[m]) * args.heads + kv_head * share + row % share) * dim;
    for (uint i = 0; i < D; i += kLanes) {
      const bool inside = i + lane < dim;
      (query + m * D + i)[lane] = inside ? (queries + at[m] + i)[lane] * args.scale : 0.0f;
    }
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);

  // Rows of one sequence after the other; mostly there is one.
  for (uint begin = 0; begin < count;) {
    const uint sequence = sequences[(first_row + begin) / share];
    uint end = begin + 1;
    while (end < count && sequences[(first_row + end) / share] == sequence) ++end;
    const bool known = sequence < args.sequences;

    uint first[M], last[M], lowest = 0xffffffffu, highest = 0;
    float most[M], total[M];  // score; of this thread's weights
#pragma unroll
    for (uint m = 0; m < M; ++m) {
      const uint position = positions[token[m]];
      const bool here = begin <= m && m < end;
      first[m] = !here ? 1 : position < window ? 0 : position - window + 1;
      last[m] = here ? position : 0;
      if (here) lowest = min(lowest, first[m]), highest = max(highest, position);
      most[m] = -INFINITY;
      total[m] = 0;
      for (uint i = 0; i < D; i += kLanes) (result + m * D + i)[lane] = 0;
    }

    for (uint tile = lowest / kKvTile; known && tile <= highest / kKvTile; ++tile) {
      const ulong from = kv_tile(sequence, kv_head, tile % (args.capacity / kKvTile), args.kv_heads,
                                 args.capacity, dim);
      const uint start = tile * kKvTile;
      // Positions that some row sees, and those that every row sees.
      Span rows[M], some = {kKvTile, 0}, every = {0, kKvTile};
#pragma unroll
      for (uint m = 0; m < M; ++m) {
        const bool any = first[m] < start + kKvTile && last[m] >= start && first[m] <= last[m];
        rows[m].first = any ? max(first[m], start) - start : kKvTile;
        rows[m].end = any ? min(last[m] - start + 1, kKvTile) : 0;
        some.first = min(some.first, rows[m].first);
        some.end = max(some.end, rows[m].end);
        if (begin > m || m >= end) continue;
        every.first = max(every.first, rows[m].first);
        every.end = min(every.end, rows[m].end);
      }
      if (!every.any()) every = {some.first, some.first};

      float scores[M];
#pragma unroll
      for (uint m = 0; m < M; ++m) scores[m] = 0;
      for (uint d = 0; d < dim; d += 8) {
        add_products<8, M, D>(scores, query + d, key_cache + from + lane + d * kKvTile);
      }
      if (args.soft_cap > 0) {
        simdgroup_barrier(mem_flags::mem_none);  // caps that nobody asked for are not computed
#pragma unroll
        for (uint m = 0; m < M; ++m) {
          scores[m] = args.soft_cap * precise::tanh(scores[m] / args.soft_cap);
        }
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);  // the last tile's weights were read
      float rescale[M];
#pragma unroll
      for (uint m = 0; m < M; ++m) {
        const bool visible = rows[m].has(lane);
        const float score = visible ? scores[m] : -INFINITY;
        const float now = max(most[m], largest_of_simdgroup(score));
        const float weight = visible ? exp(score - now) : 0.0f;
        rescale[m] = rows[m].any() ? exp(most[m] - now) : 1.0f;
        most[m] = now;
        total[m] = fma(total[m], rescale[m], weight);
        (weights + m * kKvTile)[lane] = weight;
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);

      for (uint i = 0; i < D; i += kLanes) {
        float sums[M];
#pragma unroll
        for (uint m = 0; m < M; ++m) sums[m] = (result + m * D + i)[lane] * rescale[m];
        device const T* values = value_cache + from + i;
        uint p = some.first;
        if (dim == D) {
          for (; p < every.first; ++p) {
            add_values<1, false, true>(sums, weights, values, D, p, D, lane, rows);
          }
          for (; p + 8 <= every.end; p += 8) {
            add_values<8, true, true>(sums, weights, values, D, p, D, lane, rows);
          }
          for (; p < every.end; ++p) {
            add_values<1, true, true>(sums, weights, values, D, p, D, lane, rows);
          }
          for (; p < some.end; ++p) {
            add_values<1, false, true>(sums, weights, values, D, p, D, lane, rows);
          }
        } else {
          const uint left = max(dim, i) - i;
          for (; p < some.end; ++p) {
            add_values<1, false, false>(sums, weights, values, dim, p, left, lane, rows);
          }
        }
#pragma unroll
        for (uint m = 0; m < M; ++m) (result + m * D + i)[lane] = sums[m];
      }
    }

#pragma unroll
    for (uint m = 0; m < M; ++m) {
      const float sum = simd_sum(total[m]);
      if (m < begin || m >= end) continue;
      for (uint i = 0; i < D; i += kLanes) {
        if (i + lane >= dim) continue;
        (output + at[m] + i)[lane] = known ? (result + m * D + i)[lane] / sum : 0.0f;
      }
    }
    begin = end;
  }
}

#define MLXN_ENTRY(dim)                                             \
  MLXN_KERNEL("attention_1_" #dim "_f16", attention, half, dim, 1); \
  MLXN_KERNEL("attention_4_" #dim "_f16", attention, half, dim, 4); \
  MLXN_KERNEL("attention_8_" #dim "_f16", attention, half, dim, 8); \
  MLXN_KERNEL("attention_8_" #dim "_f32", attention, float, dim, 8);
MLXN_ENTRY(64)
MLXN_ENTRY(96)
MLXN_ENTRY(128)
MLXN_ENTRY(256)
