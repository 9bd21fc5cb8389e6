// sdpa_tile_{64,128,256,576}_{f32,f16,bf16}: softmax(scale * q k^T + mask) v for many queries, with
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
// sdpa_row_{1,8}_{64,128,256,576}_{f32,f16,bf16}: the same for one query, with 1 or 8 of the heads
// that share a head of keys. Grid: threadgroups of 128 threads, (heads / rows at once, kv heads,
// batch). Chunks are dealt out to four simdgroups in turn, whose results are put together.
//
// Keys past the last one are not read, and what is masked does not matter unless it is a mask.
#include "mlxn/base/weight_formats.h"
#include "mlxn/ops/attention/sdpa_rows.h"

constant constexpr uint kLanes = 32, kSimdgroups = kSdpaSimdgroups;
constant constexpr uint kRows = kSdpaRows / kSimdgroups;  // of a simdgroup
constant constexpr uint kPart = 64;  // elements of keys that are turned at once

// A chunk of keys, and those of them that exist.
struct SdpaChunk {
  ulong first;
  uint last;  // of the keys
  uint key(uint i) const { return min(static_cast<uint>(first) + i, last); }
};

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

// Adds a chunk's values with the weights of M rows to elements `begin` + lane of their results.
// Plain: all rows see all keys.
template <bool Plain, typename T, uint M>
inline void add_values(thread Accumulator* sums, thread const float (&rescale)[M],
                       device const T* values, constant SdpaArgs& args, SdpaChunk chunk,
                       threadgroup const float* weights, uint begin, uint lane) {
  const bool inside = begin + lane < args.value_dim;
  Accumulator own[M];
#pragma unroll
  for (uint m = 0; m < M; ++m) own[m] = static_cast<float>(sums[m]) * rescale[m];
  for (uint from = 0; from < kSdpaKeys; from += 8) {
#pragma unroll
    for (uint i = 0; i < 8; ++i) {
      const uint j = from + i;
      device const T* row = values + chunk.key(j) * args.value.row + begin;
      float value = 0;
      if (inside) value = static_cast<float>(row[lane]);
#pragma unroll
      for (uint m = 0; m < M; ++m) {
        const float weight = weights[m * kSdpaKeys + j];
        const float sum = fma(weight, value, own[m]);
        own[m] = Plain || weight != 0.0f ? sum : static_cast<float>(own[m]);
      }
    }
  }
#pragma unroll
  for (uint m = 0; m < M; ++m) sums[m] = own[m];
}

template <typename T, uint D, uint M>
inline void add_all_values(thread Accumulator* sums, thread const float (&rescale)[M],
                           device const T* values, constant SdpaArgs& args, SdpaChunk chunk,
                           threadgroup const float* weights, bool plain, uint lane) {
  for (uint c = 0; c < D / kLanes && c * kLanes < args.value_dim; ++c) {
    if (plain) {
      add_values<true>(sums + c * M, rescale, values, args, chunk, weights, c * kLanes, lane);
    } else {
      add_values<false>(sums + c * M, rescale, values, args, chunk, weights, c * kLanes, lane);
    }
  }
}

template <typename T, uint D>
[[kernel, max_total_threads_per_threadgroup(kSdpaThreads)]] void sdpa_tile(MLXN_SDPA_ARGUMENTS(T)) {
  threadgroup float turned[kPart * kLanes], queries[kSdpaRows * kPart], weights[kSdpaRows * kLanes];
  const SdpaBuffers buffers = {query, mask, slopes, sinks, output};
  const uint count = args.queries * args.share, tile = group.x * kSdpaRows;
  const uint first = tile + simdgroup * kRows, kv_head = group.y, batch = group.z;
  device const T* keys = key + batch * args.key.batch + kv_head * args.key.head;
  device const T* values = value + batch * args.value.batch + kv_head * args.value.head;
  threadgroup float* own_queries = queries + simdgroup * kRows * kPart;
  threadgroup float* own_weights = weights + simdgroup * kRows * kLanes;

  // Of all rows of the threadgroup: keys that some row sees, and those that all see.
  const ulong position = args.offset + tile / args.share;
  const ulong last_position = args.offset + min(tile + kSdpaRows - 1, count - 1) / args.share;
  const SdpaSpan low(args, position), high(args, last_position);
  const uint block_row = tile / args.share / kSdpaRows,
             block_columns = (args.keys - 1) / kSdpaKeys + 1;

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
      stage_keys(keys, args, chunk, part, turned, lane, simdgroup);
      for (uint m = 0; m < kRows; ++m) {
        const SdpaRow row(args, batch, kv_head, min(first + m, count - 1));
        stage_query(buffers, args, row.at(args.query), part, own_queries + m * kPart, lane);
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
    float rescale[kRows];
#pragma unroll
    for (uint m = 0; m < kRows; ++m) {
      const SdpaRow row(args, batch, kv_head, min(first + m, count - 1));
      const SdpaSpan span(args, row.position);
      const float score =
          finished_score(scores[m], buffers, args, row, span, start + lane, with_mask);
      float weight;
      rescale[m] = states[m].add(score, weight);
      (own_weights + m * kLanes)[lane] = weight;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const bool plain = !with_mask && high.first <= start && start + kSdpaKeys <= low.end;
    add_all_values<T, D, kRows>(sums, rescale, values, args, chunk, own_weights, plain, lane);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }

  for (uint m = 0; m < kRows; ++m) {
    const SdpaRow row(args, batch, kv_head, min(first + m, count - 1));
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

// The product of a key with the query of each of M rows, put at thread `place`.
template <typename T, uint D, uint M>
inline void score_key(thread float (&scores)[M], device const T* key, uint dim,
                      threadgroup const float* queries, uint place, uint lane) {
  Accumulator sums[M];
#pragma unroll
  for (uint m = 0; m < M; ++m) sums[m] = 0.0f;
#pragma unroll
  for (uint c = 0; c < D; c += kLanes) {
    float element = 0;
    if (c + lane < dim) element = static_cast<float>((key + c)[lane]);
#pragma unroll
    for (uint m = 0; m < M; ++m) sums[m] = fma((queries + m * D + c)[lane], element, sums[m]);
  }
#pragma unroll
  for (uint m = 0; m < M; ++m) {
    const float score = simd_sum(static_cast<float>(sums[m]));
    scores[m] = lane == place ? score : scores[m];
  }
}

template <typename T, uint D, uint M>
[[kernel, max_total_threads_per_threadgroup(kSdpaThreads)]] void sdpa_row(MLXN_SDPA_ARGUMENTS(T)) {
  threadgroup float queries[M * D];  // then results
  threadgroup float weights[kSimdgroups * M * kLanes], most[kSimdgroups * M],
      totals[kSimdgroups * M];
  const SdpaBuffers buffers = {query, mask, slopes, sinks, output};
  const uint first = group.x * M, last = args.share - 1, kv_head = group.y, batch = group.z;
  device const T* keys = key + batch * args.key.batch + kv_head * args.key.head;
  device const T* values = value + batch * args.value.batch + kv_head * args.value.head;
  threadgroup float* own_weights = weights + simdgroup * M * kLanes;

  for (uint m = simdgroup; m < M; m += kSimdgroups) {
    const SdpaRow row(args, batch, kv_head, min(first + m, last));
    for (uint c = 0; c < D; c += kLanes) {
      float element = 0;
      if (c + lane < args.dim) {
        element = load_float(query, row.at(args.query) + c + lane, args.query_type);
      }
      (queries + m * D + c)[lane] = element;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  const SdpaSpan span(args, args.offset);
  Accumulator sums[D / kLanes * M];
  for (uint i = 0; i < D / kLanes * M; ++i) sums[i] = 0.0f;
  SdpaState states[M];
  const ulong first_chunk = span.first / kSdpaKeys;
  const bool with_mask = args.mask_type < 4;
  for (ulong c = first_chunk + (simdgroup + kSimdgroups - first_chunk % kSimdgroups) % kSimdgroups;
       c * kSdpaKeys < span.end; c += kSimdgroups) {
    const ulong start = c * kSdpaKeys;
    const SdpaChunk chunk = {start, args.keys - 1};
    float scores[M];
#pragma unroll
    for (uint m = 0; m < M; ++m) scores[m] = 0;
    for (uint j = 0; j < kSdpaKeys; ++j) {
      score_key<T, D, M>(scores, keys + chunk.key(j) * args.key.row, args.dim, queries, j, lane);
    }
    float rescale[M];
#pragma unroll
    for (uint m = 0; m < M; ++m) {
      const SdpaRow row(args, batch, kv_head, min(first + m, last));
      const float score =
          finished_score(scores[m], buffers, args, row, span, start + lane, with_mask);
      float weight;
      rescale[m] = states[m].add(score, weight);
      (own_weights + m * kLanes)[lane] = weight;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const bool plain = !with_mask && span.first <= start && start + kSdpaKeys <= span.end;
    add_all_values<T, D, M>(sums, rescale, values, args, chunk, own_weights, plain, lane);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }

  // One after the other the simdgroups add theirs, relative to the largest score of all.
  for (uint m = 0; m < M; ++m) {
    const float total = simd_sum(static_cast<float>(states[m].total));
    if (lane == 0) {
      most[simdgroup * M + m] = states[m].most;
      totals[simdgroup * M + m] = total;
    }
  }
  for (uint s = 0; s < kSimdgroups; ++s) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint m = 0; m < M && s == simdgroup; ++m) {
      float all = most[m];
      for (uint i = 1; i < kSimdgroups; ++i) all = max(all, most[i * M + m]);
      const float factor = all == -INFINITY ? 0.0f : exp(states[m].most - all);
      for (uint c = 0; c < D / kLanes; ++c) {
        threadgroup float* to = queries + m * D + c * kLanes;
        const float before = s == 0 ? 0.0f : to[lane];
        to[lane] = fma(static_cast<float>(sums[c * M + m]), factor, before);
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint m = simdgroup; m < min(M, args.share - first); m += kSimdgroups) {
    const SdpaRow row(args, batch, kv_head, first + m);
    float all = most[m], total = 0;
    for (uint i = 1; i < kSimdgroups; ++i) all = max(all, most[i * M + m]);
    if (args.has_sinks != 0) all = max(all, sinks[row.head]);
    const float from = all == -INFINITY ? 0.0f : all;
    float before = most[m];  // what the sums are relative to
    for (uint i = 1; i < kSimdgroups; ++i) before = max(before, most[i * M + m]);
    for (uint i = 0; i < kSimdgroups; ++i) total += totals[i * M + m] * exp(most[i * M + m] - from);
    if (args.has_sinks != 0) total += exp(sinks[row.head] - from);
    const float rescale = exp(before - from);
    for (uint c = 0; c < D; c += kLanes) {
      if (c + lane >= args.value_dim) continue;
      store_float(output, row.at(args.output) + c + lane, args.output_type,
                  sdpa_result((queries + m * D + c)[lane], rescale, total));
    }
  }
}

#define MLXN_ENTRY(format, type, ...)                             \
  MLXN_KERNEL("sdpa_tile_64_" #format, sdpa_tile, type, 64);      \
  MLXN_KERNEL("sdpa_tile_128_" #format, sdpa_tile, type, 128);    \
  MLXN_KERNEL("sdpa_tile_256_" #format, sdpa_tile, type, 256);    \
  MLXN_KERNEL("sdpa_tile_576_" #format, sdpa_tile, type, 576);    \
  MLXN_KERNEL("sdpa_row_1_64_" #format, sdpa_row, type, 64, 1);   \
  MLXN_KERNEL("sdpa_row_8_64_" #format, sdpa_row, type, 64, 8);   \
  MLXN_KERNEL("sdpa_row_1_128_" #format, sdpa_row, type, 128, 1); \
  MLXN_KERNEL("sdpa_row_8_128_" #format, sdpa_row, type, 128, 8); \
  MLXN_KERNEL("sdpa_row_1_256_" #format, sdpa_row, type, 256, 1); \
  MLXN_KERNEL("sdpa_row_8_256_" #format, sdpa_row, type, 256, 8); \
  MLXN_KERNEL("sdpa_row_1_576_" #format, sdpa_row, type, 576, 1); \
  MLXN_KERNEL("sdpa_row_8_576_" #format, sdpa_row, type, 576, 8);
MLXN_EACH_FLOAT_FORMAT(MLXN_ENTRY)
