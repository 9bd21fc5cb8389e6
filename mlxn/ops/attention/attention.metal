// attention_{1,4,8}_{64,96,128,256}_f16, attention_8_{64,96,128,256}_f32 and
// attention_rounded_{1,4,8}_{64,96,128,256}_{f16,q8_0}: softmax(scale * q k^T) v for up to so many
// rows at once, of heads of up to so many elements, with a cache of that type. Buffers: 0 queries
// [tokens, heads, dim], 1 cache of keys, 2 cache of values, 3 positions and 4 sequences [tokens], 5
// output [tokens, heads, dim] or, for attention_rounded with args.tile, rows of heads * dim
// elements in the layout of rounded_rows.h, 6 AttentionArgs. Grid: threadgroups of 32 threads, (kv
// heads, shares of args.rows rows). The output may be the queries. dim is a multiple of 8, of 32
// with args.tile.
//
// A row is a token with one of the query heads that share a head of keys; a threadgroup takes rows
// that lie side by side, so that what it reads of the cache serves all of them. Keys come in chunks
// of eight tiles of 32 positions. Thread t first makes the scores of position t of each tile, then
// the weights of these positions, then sums up elements t, t + 32, ... of the results. A running
// maximum keeps exponents small: whatever was summed before is scaled down when a chunk has a
// larger score. Positions outside what a row sees have no weight and are not multiplied unless what
// the cache holds there is finite, so it does not matter, and the bits of a row do not depend on
// the rows beside it.
#include "mlxn/ops/attention/attention_args.h"
#include "mlxn/ops/attention/attention_arithmetic.h"
#include "mlxn/ops/common/rounded_block.h"
#include "mlxn/ops/kv/kv_layout.h"

constant constexpr uint kLanes = kAttentionThreads;
static_assert(kKvTile == kLanes, "a thread for each position of a tile");
constant constexpr uint kTiles = 8, kChunk = kTiles * kKvTile;  // positions between two scalings

// Positions that a row sees: `first` to `last`.
struct Span {
  uint first, last;
  bool has(uint p) const { return first <= p && p <= last; }
};

// What a threadgroup keeps of its rows. Of arrays with an element for each thread of a row, each
// thread uses its own alone.
template <typename N, uint D, uint M>
struct Rows {
  // Pairs of a query, for each thread as many.
  static constexpr constant uint kPairs = (D / 2 + kLanes - 1) / kLanes * kLanes;
  // Elements of a result that a thread sums up at a time, so that eight sums are under way.
  static constexpr constant uint kAtOnce = D % (8 / M * kLanes) == 0 ? 8 / M
                                           : D % 64 == 0 && M < 8    ? 2
                                                                     : 1;
  typename N::Pair query[M * kPairs];
  float scores[M * kChunk];
  typename N::Weight weights[N::kInPlace ? 1 : M * kChunk];
  float result[M * D];  // of what was seen so far, unscaled
  float most[M * kLanes], total[M * kLanes], rescale[M * kLanes];  // total: of a thread's weights
  uint sequence[M];
  Span span[M];
};

// Weights of a row, in the place of its scores where both are floats.
template <typename N, uint D, uint M>
inline threadgroup typename N::Weight* weights_of(threadgroup Rows<N, D, M>& rows, uint m) {
  return (N::kInPlace ? reinterpret_cast<threadgroup typename N::Weight*>(rows.scores)
                      : rows.weights) +
         m * kChunk;
}

// Scores of a tile's positions, one for each thread.
template <typename N, uint D, uint M>
inline void make_scores(threadgroup Rows<N, D, M>& rows, device const typename N::Stored* keys,
                        uint tile, uint dim, float soft_cap, uint lane) {
  float scores[M];
#pragma unroll
  for (uint m = 0; m < M; ++m) scores[m] = 0;
  for (uint d = 0; d < dim / 2; ++d) {
    const typename N::Loaded key = N::key(keys, d, dim, lane);
#pragma unroll
    for (uint m = 0; m < M; ++m)
      scores[m] = N::add(rows.query[m * rows.kPairs + d], key, scores[m]);
  }
  if (soft_cap > 0) {
    simdgroup_barrier(mem_flags::mem_none);  // caps that nobody asked for are not computed
    const float cap = soft_cap / N::kScore;
#pragma unroll
    for (uint m = 0; m < M; ++m) scores[m] = cap * precise::tanh(scores[m] / cap);
  }
#pragma unroll
  for (uint m = 0; m < M; ++m) (rows.scores + m * kChunk + tile * kKvTile)[lane] = scores[m];
}

// As whole numbers of this kind, numbers keep their order.
inline int ordered(float value) {
  const int bits = as_type<int>(value);
  return bits ^ (bits >> 31 & 0x7fffffff);
}

inline float from_ordered(int bits) {
  return as_type<float>(bits ^ (bits >> 31 & 0x7fffffff));
}

// Makes weights of a row's scores in the tiles of a chunk that begins at `start`: exponentials
// relative to the largest score so far, zeros for what the row does not see. A NaN is not the
// largest score, but makes a weight that is NaN.
template <typename N, uint D, uint M>
inline void make_weights(threadgroup Rows<N, D, M>& rows, uint m, uint start, uint first_tile,
                         uint end_tile, uint lane) {
  const Span span = rows.span[m];
  const uint length = span.last - span.first + 1, from = start + lane - span.first;
  threadgroup float* scores = rows.scores + m * kChunk;
  threadgroup typename N::Weight* weights = weights_of(rows, m);
  const float before = (rows.most + m * kLanes)[lane];
  float largest = before;
  for (uint t = first_tile; t < end_tile; ++t) {
    const float all = (scores + t * kKvTile)[lane];
    const float score = from + t * kKvTile < length ? all : -INFINITY;
    largest = score > largest ? score : largest;
    (scores + t * kKvTile)[lane] = score;
  }
  const float now = from_ordered(simd_max(ordered(largest)));
  const float rescale = N::scaling(before - now);
  float total = (rows.total + m * kLanes)[lane] * rescale;
  for (uint t = first_tile; t < end_tile; ++t) {
    const typename N::Weight weight = N::weight((scores + t * kKvTile)[lane] - now);
    total += N::value_of(weight);
    (weights + t * kKvTile)[lane] = weight;
  }
  (rows.most + m * kLanes)[lane] = now;
  (rows.total + m * kLanes)[lane] = total;
  (rows.rescale + m * kLanes)[lane] = rescale;
}

// Values of a tile, and its place in its chunk.
template <typename N>
struct Values {
  device const typename N::Stored* tile;
  uint number, position;  // of the tile; of its first position
  uint dim, first;        // elements of a value; the first one for thread 0
};

// Adds the values of positions `begin` up to `end` of a tile, both even, with their weights, to
// elements of each result. All: every row sees these positions, or they are finite. Whole: there
// are elements for all threads.
template <bool All, bool Whole, typename N, uint D, uint M, uint Sums>
inline void add_values(thread Accumulator (&sums)[Sums], threadgroup Rows<N, D, M>& rows,
                       Values<N> values, uint begin, uint end, uint lane) {
  for (uint p = begin; p < end; p += 2) {
#pragma unroll
    for (uint b = 0; b < Sums / M; ++b) {
      const uint i = values.first + b * kLanes;
      const bool inside = Whole || i + lane < values.dim;
      const typename N::Loaded value = N::value(values.tile, i, p, values.dim, inside, lane);
#pragma unroll
      for (uint m = 0; m < M; ++m) {
        threadgroup const typename N::Weight* weights =
            weights_of(rows, m) + values.number * kKvTile + p;
        thread Accumulator& sum = sums[b * M + m];
        if (All) {
          sum = N::add(N::pair(weights[0], weights[1]), value, sum);
          continue;
        }
        const Span span = rows.span[m];
        const float one = fma(N::value_of(weights[0]), static_cast<float>(value.x), sum);
        sum = span.has(values.position + p) ? one : static_cast<float>(sum);
        const float two = fma(N::value_of(weights[1]), static_cast<float>(value.y), sum);
        sum = span.has(values.position + p + 1) ? two : static_cast<float>(sum);
      }
    }
  }
}

template <typename N, uint D, uint M>
[[kernel, max_total_threads_per_threadgroup(32)]] void attention(
    device const float* queries [[buffer(0)]],
    device const typename N::Stored* key_cache [[buffer(1)]],
    device const typename N::Stored* value_cache [[buffer(2)]],
    device const uint* positions [[buffer(3)]], device const uint* sequences [[buffer(4)]],
    device float* output [[buffer(5)]], constant AttentionArgs& args [[buffer(6)]],
    uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  constexpr uint kAtOnce = Rows<N, D, M>::kAtOnce;
  threadgroup Rows<N, D, M> rows;
  const uint kv_head = group.x, dim = args.dim, share = args.heads / args.kv_heads;
  const uint first_row = group.y * args.rows;
  const uint count = min(args.rows, args.tokens * share - first_row);
  const uint window = args.window == 0 ? args.capacity : min(args.window, args.capacity);

  // A thread for each row.
  const uint own_token = (first_row + min(lane, count - 1)) / share;
  const uint own_position = positions[own_token];
  const uint own_first = own_position < window ? 0 : own_position - window + 1;
  if (lane < M) {
    rows.sequence[lane] = sequences[own_token];
    rows.span[lane] = {own_first, own_position};
  }
  ulong at[M];  // of the row's head
#pragma unroll
  for (uint m = 0; m < M; ++m) {
    const uint row = first_row + min(m, count - 1);
    at[m] = (static_cast<ulong>(row / share) * args.heads + kv_head * share + row % share) * dim;
    for (uint i = 0; i < D / 2; i += kLanes) {
      const bool inside = 2 * (i + lane) < dim;
      device const float2* pairs = reinterpret_cast<device const float2*>(queries + at[m]) + i;
      (rows.query + m * rows.kPairs + i)[lane] =
          N::query(inside ? pairs[lane] * args.scale : float2(0.0f));
    }
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);

  // Rows of one sequence after the other; mostly there is one.
  for (uint begin = 0; begin < count;) {
    const uint sequence = rows.sequence[begin];
    uint end = begin + 1;
    while (end < count && rows.sequence[end] == sequence) ++end;
    const bool known = sequence < args.sequences;

    const bool here = begin <= lane && lane < end;
    const uint lowest = simd_min(here ? own_first : 0xffffffffu);
    const uint highest = simd_max(here ? own_position : 0u);
    const uint seen_by_all = simd_max(here ? own_first : 0u);  // from there on
    const uint up_to = simd_min(here ? own_position : 0xffffffffu);
#pragma unroll
    for (uint m = 0; m < M; ++m) {
      (rows.most + m * kLanes)[lane] = -0x1p127f;
      (rows.total + m * kLanes)[lane] = 0;
      (rows.rescale + m * kLanes)[lane] = 1;
      for (uint i = 0; i < D; i += kLanes) (rows.result + m * D + i)[lane] = 0;
    }

    for (uint chunk = lowest / kChunk; known && chunk <= highest / kChunk; ++chunk) {
      const uint start = chunk * kChunk;
      const uint first_tile = (max(lowest, start) - start) / kKvTile;
      const uint end_tile = (min(highest, start + kChunk - 1) - start) / kKvTile + 1;
      for (uint t = first_tile; t < end_tile; ++t) {
        const ulong tile =
            kv_tile(sequence, kv_head, (start / kKvTile + t) % (args.capacity / kKvTile),
                    args.kv_heads, args.capacity, dim);
        make_scores(rows, key_cache + N::offset(tile), t, dim, args.soft_cap, lane);
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
      for (uint m = begin; m < end; ++m) make_weights(rows, m, start, first_tile, end_tile, lane);
      simdgroup_barrier(mem_flags::mem_threadgroup);
      for (uint i = 0; i < D; i += kAtOnce * kLanes) {
        Accumulator sums[kAtOnce * M];
#pragma unroll
        for (uint n = 0; n < kAtOnce * M; ++n) {
          sums[n] = (rows.result + n % M * D + i + n / M * kLanes)[lane] *
                    (rows.rescale + n % M * kLanes)[lane];
        }
        for (uint t = first_tile; t < end_tile; ++t) {
          const ulong tile =
              kv_tile(sequence, kv_head, (start / kKvTile + t) % (args.capacity / kKvTile),
                      args.kv_heads, args.capacity, dim);
          const uint first = start + t * kKvTile;
          const Values<N> values = {value_cache + N::offset(tile), t, first, dim == D ? D : dim, i};
          const uint end = min(highest - first, kKvTile - 1) / 2 * 2 + 2;
          // Up to here all rows see all positions.
          const uint shared = N::kFinite ? end
                              : seen_by_all <= first && first <= up_to
                                  ? (min(up_to - first, kKvTile - 1) + 1) / 2 * 2
                                  : 0;
          if (dim == D) {
            add_values<true, true>(sums, rows, values, 0, shared, lane);
            if (!N::kFinite) add_values<N::kFinite, true>(sums, rows, values, shared, end, lane);
          } else {
            add_values<N::kFinite, false>(sums, rows, values, 0, end, lane);
          }
        }
#pragma unroll
        for (uint n = 0; n < kAtOnce * M; ++n) {
          (rows.result + n % M * D + i + n / M * kLanes)[lane] = sums[n];
        }
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }

    const bool to_codes = N::kRounds && args.tile != 0;
    for (uint m = begin; to_codes && m < end; ++m) {
      const float sum = simd_sum((rows.total + m * kLanes)[lane]);
      const uint token = (first_row + m) / share, head = kv_head * share + (first_row + m) % share;
      const RoundedRow row(reinterpret_cast<device int*>(output), token, args.tokens,
                           args.heads * (dim / kRoundedBlock), args.tile);
      for (uint i = 0; i < dim; i += kLanes) {
        const float value = known ? N::result((rows.result + m * D + i)[lane], sum) : 0.0f;
        store_rounded(value, row, (head * dim + i) / kRoundedBlock, lane);
      }
    }
#pragma unroll
    for (uint m = 0; m < M; ++m) {
      const float sum = simd_sum((rows.total + m * kLanes)[lane]);
      if (to_codes || m < begin || m >= end) continue;
      for (uint i = 0; i < D; i += kLanes) {
        if (i + lane >= dim) continue;
        (output + at[m] + i)[lane] = known ? N::result((rows.result + m * D + i)[lane], sum) : 0.0f;
      }
    }
    begin = end;
  }
}

using ExactHalves = ExactNumbers<half>;
using ExactFloats = ExactNumbers<float>;

#define MLXN_ENTRY(dim)                                                              \
  MLXN_KERNEL("attention_1_" #dim "_f16", attention, ExactHalves, dim, 1);           \
  MLXN_KERNEL("attention_4_" #dim "_f16", attention, ExactHalves, dim, 4);           \
  MLXN_KERNEL("attention_8_" #dim "_f16", attention, ExactHalves, dim, 8);           \
  MLXN_KERNEL("attention_8_" #dim "_f32", attention, ExactFloats, dim, 8);           \
  MLXN_KERNEL("attention_rounded_1_" #dim "_f16", attention, RoundedHalves, dim, 1); \
  MLXN_KERNEL("attention_rounded_4_" #dim "_f16", attention, RoundedHalves, dim, 4); \
  MLXN_KERNEL("attention_rounded_8_" #dim "_f16", attention, RoundedHalves, dim, 8); \
  MLXN_KERNEL("attention_rounded_1_" #dim "_q8_0", attention, RoundedCodes, dim, 1); \
  MLXN_KERNEL("attention_rounded_4_" #dim "_q8_0", attention, RoundedCodes, dim, 4); \
  MLXN_KERNEL("attention_rounded_8_" #dim "_q8_0", attention, RoundedCodes, dim, 8);
MLXN_ENTRY(64)
MLXN_ENTRY(96)
MLXN_ENTRY(128)
MLXN_ENTRY(256)
