// sdpa_tile_{256,576}_{f32,f16,bf16}: softmax(scale * q k^T + mask) v for many queries, with
// heads of up to so many elements and keys and values of that type.
// Buffers: 0 queries, 1 keys, 2 values, 3 mask, 4 slopes and 5 sinks [heads], 6 blocks [query
// tiles, key tiles], 7 output, 8 SdpaArgs. Those that the arguments do not speak of may be
// anything. Grid: threadgroups of 128 threads, (32 rows, kv heads, batch).
//
// A simdgroup has eight of the rows. For each chunk of 32 keys the threadgroup turns 64 elements of
// the keys at a time so that those of neighbouring keys lie side by side: thread t makes the scores
// of key t, then sums up elements t, t + 32, ... of the results. The order of all sums depends on
// the positions of keys alone.
//
// sdpa_row_{1,4}_{256,576}_{f32,f16,bf16}: the same for one query, with 1 or 4 of the heads
// that share a head of keys. Grid: threadgroups of 128 threads, (heads / rows at once, kv heads,
// batch). Chunks are dealt out to four simdgroups in turn, whose results are put together.
//
// Keys past the last one are not read, and what is masked does not matter unless it is a mask.
#include "mlxn/base/weight_formats.h"
#include "mlxn/ops/attention/sdpa_few.h"

constant constexpr uint kLanes = 32, kSimdgroups = kSdpaSimdgroups;
constant constexpr uint kRows = kSdpaRows / kSimdgroups;  // of a simdgroup
constant constexpr uint kPart = 64;  // elements of keys that are turned at once

// Brings 64 elements of a chunk's keys and of the rows' queries into threadgroup memory.
template <typename T>
inline void stage_keys(device const T* keys, constant SdpaArgs& args, SdpaChunk chunk, uint part,
                       threadgroup float* turned, uint lane, uint simdgroup) {
  constexpr uint kOwn = kPart / kSimdgroups;
  const uint begin = part + simdgroup * kOwn;
  device const T* own = keys + chunk.key(lane) * args.key.row + begin;
  threadgroup float* to = turned + simdgroup * kOwn * kLanes;
  if (begin + kOwn <= args.dim) {
    float elements[kOwn];
#pragma unroll
    for (uint i = 0; i < kOwn; ++i) elements[i] = static_cast<float>(own[i]);
#pragma unroll
    for (uint i = 0; i < kOwn; ++i) (to + i * kLanes)[lane] = elements[i];
    return;
  }
  for (uint i = 0; i < kOwn; ++i) {
    float element = 0;
    if (begin + i < args.dim) element = static_cast<float>(own[i]);
    (to + i * kLanes)[lane] = element;
  }
}

template <typename T>
inline void stage_query(device const T* query, uint dim, threadgroup float* to, uint lane) {
#pragma unroll
  for (uint i = 0; i < kPart; i += kLanes) {
    float element = 0;
    if (i + lane < dim) element = static_cast<float>((query + i)[lane]);
    (to + i)[lane] = element;
  }
}

inline void stage_query(thread const SdpaBuffers& buffers, constant SdpaArgs& args, ulong at,
                        uint part, threadgroup float* to, uint lane) {
  const uint dim = args.dim - part;
  if (args.query_type == 0) {
    stage_query(reinterpret_cast<device const float*>(buffers.query) + at + part, dim, to, lane);
  } else if (args.query_type == 1) {
    stage_query(reinterpret_cast<device const half*>(buffers.query) + at + part, dim, to, lane);
  } else {
    stage_query(reinterpret_cast<device const bfloat*>(buffers.query) + at + part, dim, to, lane);
  }
}

// The rows of a simdgroup, past the last one it again.
struct TileRows {
  constant SdpaArgs* args;
  uint batch, kv_head, first, last;

  SdpaRow row(uint m) const { return SdpaRow(*args, batch, kv_head, min(first + m, last)); }
  bool seen(uint m, ulong key) const { return SdpaSpan(*args, row(m).position).has(key); }
};

template <typename T, uint D>
[[kernel, max_total_threads_per_threadgroup(kSdpaThreads)]] void sdpa_tile(MLXN_SDPA_ARGUMENTS(T)) {
  threadgroup float turned[kPart * kLanes], queries[kSdpaRows * kPart], weights[kSdpaRows * kLanes];
  const SdpaBuffers buffers = {query, mask, slopes, sinks, output};
  const uint count = args.queries * args.share, tile = group.x * kSdpaRows;
  const uint first = tile + simdgroup * kRows, kv_head = group.y, batch = group.z;
  const FloatHeads<T> heads(key, value, args, batch, kv_head);
  threadgroup float* own_queries = queries + simdgroup * kRows * kPart;
  threadgroup float* own_weights = weights + simdgroup * kRows * kLanes;

  // Of all rows of the threadgroup: keys that some row sees, and those that all see.
  const ulong position = args.offset + tile / args.share;
  const ulong last_position = args.offset + min(tile + kSdpaRows - 1, count - 1) / args.share;
  const SdpaSpan low(args, position), high(args, last_position);
  const uint block_row = tile / args.share / kSdpaRows,
             block_columns = (args.keys - 1) / kSdpaKeys + 1;

  const TileRows rows = {&args, batch, kv_head, first, count - 1};
  ulong query_at[kRows];
  for (uint m = 0; m < kRows; ++m) query_at[m] = rows.row(m).at(args.query);
  Accumulator sums[D / kLanes * kRows];
  for (uint i = 0; i < D / kLanes * kRows; ++i) sums[i] = 0.0f;
  SdpaState states[kRows];

  for (ulong start = low.first / kSdpaKeys * kSdpaKeys; start < high.end; start += kSdpaKeys) {
    uint block = 1;
    if (args.has_blocks != 0) {
      block = blocks[static_cast<ulong>(block_row) * block_columns + start / kSdpaKeys];
    }
    if (block == 0) continue;
    const SdpaChunk chunk = {start, args.keys - 1};
    float scores[kRows];
#pragma unroll
    for (uint m = 0; m < kRows; ++m) scores[m] = 0;
    for (uint part = 0; part < args.dim; part += kPart) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      stage_keys(heads.keys, args, chunk, part, turned, lane, simdgroup);
      for (uint m = 0; m < kRows; ++m) {
        stage_query(buffers, args, query_at[m], part, own_queries + m * kPart, lane);
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (uint d = 0; d < kPart; d += 8) {
#pragma unroll
        for (uint i = 0; i < 8; ++i) {
          const float element = (turned + (d + i) * kLanes)[lane];
#pragma unroll
          for (uint m = 0; m < kRows; ++m) {
            scores[m] = fma(own_queries[m * kPart + d + i], element, scores[m]);
          }
        }
      }
    }
    const bool with_mask = args.mask_type < 4 && block != 2;
    finish_scores(scores, rows, buffers, args, start + lane, with_mask);
    float rescale[kRows];
#pragma unroll
    for (uint m = 0; m < kRows; ++m) {
      float weight;
      rescale[m] = states[m].add(scores[m], weight);
      (own_weights + m * kLanes)[lane] = weight;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const bool plain = !with_mask && high.first <= start && start + kSdpaKeys <= low.end;
    add_all_values<D>(sums, rescale, heads, args.value_dim, chunk, own_weights, plain, lane);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }

  for (uint m = 0; m < kRows; ++m) {
    const SdpaRow row = rows.row(m);
    float rescale, sink = 0;
    if (args.has_sinks != 0) sink = sinks[row.head];
    const float total = states[m].finish(sink, args.has_sinks != 0, rescale);
    if (first + m >= count) continue;
    for (uint c = 0; c < D / kLanes; ++c) {
      if (c * kLanes + lane >= args.value_dim) continue;
      store_float(output, row.at(args.output) + c * kLanes + lane, args.output_type,
                  sdpa_result(sums[c * kRows + m], rescale, total));
    }
  }
}

template <typename T, uint D, uint M>
[[kernel, max_total_threads_per_threadgroup(kSdpaThreads)]] void sdpa_row(MLXN_SDPA_ARGUMENTS(T)) {
  threadgroup SdpaFew<D, M> few;
  const SdpaBuffers buffers = {query, mask, slopes, sinks, output};
  const FloatHeads<T> heads(key, value, args, group.z, group.y);
  attend_few(few, heads, SdpaSpan(args, args.offset), buffers, args, group, lane, simdgroup);
}

#define MLXN_ENTRY(format, type, ...)                             \
  MLXN_KERNEL("sdpa_tile_256_" #format, sdpa_tile, type, 256);    \
  MLXN_KERNEL("sdpa_tile_576_" #format, sdpa_tile, type, 576);    \
  MLXN_KERNEL("sdpa_row_1_256_" #format, sdpa_row, type, 256, 1); \
  MLXN_KERNEL("sdpa_row_4_256_" #format, sdpa_row, type, 256, 4); \
  MLXN_KERNEL("sdpa_row_1_576_" #format, sdpa_row, type, 576, 1); \
  MLXN_KERNEL("sdpa_row_4_576_" #format, sdpa_row, type, 576, 4);
MLXN_EACH_FLOAT_FORMAT(MLXN_ENTRY)
