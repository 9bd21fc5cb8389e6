// MSL: what both kernels of sdpa do with a row of scores.
//
// A row is a query with one of the heads that share a head of keys. Scores come in chunks of 32
// keys, one for each thread of a simdgroup. A running maximum keeps exponents small: whatever was
// summed before is scaled down when a chunk has a larger score. A chunk that a row sees nothing of
// changes no bit of it.
#pragma once

#include "mlxn/ops/attention/sdpa_args.h"
#include "mlxn/ops/common/float_access.h"

struct SdpaBuffers {
  device const uchar* query;
  device const uchar* mask;
  device const float* slopes;
  device const float* sinks;
  device uchar* output;
};

#define MLXN_SDPA_ARGUMENTS(T)                                                             \
  device const uchar *query [[buffer(0)]], device const T *key [[buffer(1)]],              \
      device const T *value [[buffer(2)]], device const uchar *mask [[buffer(3)]],         \
      device const float *slopes [[buffer(4)]], device const float *sinks [[buffer(5)]],   \
      device const uchar *blocks [[buffer(6)]], device uchar *output [[buffer(7)]],        \
      constant SdpaArgs &args [[buffer(8)]], uint3 group [[threadgroup_position_in_grid]], \
      uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]

// Where a row stands.
struct SdpaRow {
  uint batch, head, query;
  ulong position;

  SdpaRow(constant SdpaArgs& args, uint batch_index, uint kv_head, uint row)
      : batch(batch_index),
        head(kv_head * args.share + row % args.share),
        query(row / args.share),
        position(args.offset + row / args.share) {}
  ulong at(constant SdpaStrides& strides) const {
    return batch * strides.batch + head * strides.head + query * strides.row;
  }
};

// Keys from `first` up to `end` that a row may see.
struct SdpaSpan {
  ulong first, end;

  SdpaSpan(constant SdpaArgs& args, ulong position) : first(0), end(args.keys) {
    if (args.causal != 0) end = min(end, position + 1);
    if (args.window != 0 && position >= args.window) first = position - args.window + 1;
    first = min(first, static_cast<ulong>(args.keys));
    end = max(end, first);
  }
  bool has(ulong key) const { return first <= key && key < end; }
  bool has_chunk(ulong start) const { return first <= start && start + kSdpaKeys <= end; }
};

// Whatever a mask hides, it hides.
inline float masked(float score, device const uchar* mask, ulong at, uint type) {
  if (type == 3) return mask[at] != 0 ? score : -INFINITY;
  const float bias = load_float(mask, at, type);
  return bias == -INFINITY ? bias : score + bias;
}

// Makes scores of the products of a key with M queries; -infinity for a row that does not see it.
// rows.row(m) is row m, rows.seen(m, key) tells what it sees. What is not asked for stands between
// barriers, so that it is not computed.
template <uint M, typename Rows>
inline void finish_scores(thread float (&scores)[M], thread const Rows& rows,
                          thread const SdpaBuffers& buffers, constant SdpaArgs& args, ulong key,
                          bool with_mask) {
#pragma unroll
  for (uint m = 0; m < M; ++m) scores[m] *= args.scale;
  if (args.soft_cap > 0) {
    simdgroup_barrier(mem_flags::mem_none);
#pragma unroll
    for (uint m = 0; m < M; ++m) {
      scores[m] = args.soft_cap * precise::tanh(scores[m] / args.soft_cap);
    }
  }
  for (uint m = 0; m < M && with_mask; ++m) {
    simdgroup_barrier(mem_flags::mem_none);
    const ulong at = rows.row(m).at(args.mask) + key;
    if (rows.seen(m, key)) scores[m] = masked(scores[m], buffers.mask, at, args.mask_type);
  }
  for (uint m = 0; m < M && args.has_slopes != 0; ++m) {
    simdgroup_barrier(mem_flags::mem_none);
    const SdpaRow row = rows.row(m);
    const ulong apart = key > row.position ? key - row.position : row.position - key;
    scores[m] -= buffers.slopes[row.head] * static_cast<float>(apart);
  }
  simdgroup_barrier(mem_flags::mem_none);
#pragma unroll
  for (uint m = 0; m < M; ++m) scores[m] = rows.seen(m, key) ? scores[m] : -INFINITY;
}

// What was seen so far: the largest score, and each thread's sum of weights.
struct SdpaState {
  float most = -INFINITY;
  Accumulator total = 0.0f;

  // Takes a chunk's scores in, one of each thread: `weight` becomes this thread's weight, and what
  // was summed before is to be multiplied with the result.
  float add(float score, thread float& weight) {
    const float now = max(most, simd_max(score));
    const float from = now == -INFINITY ? 0.0f : now;
    const float rescale = exp(most - from);
    weight = exp(score - from);
    simdgroup_barrier(mem_flags::mem_none);  // that exponentials are made side by side
    total *= rescale;
    total += weight;
    most = now;
    return rescale;
  }
  // With a score that has no value; then the sum of all threads, whose inverse weighs the result.
  float finish(float sink, bool has_sink, thread float& rescale) {
    float all = simd_sum(static_cast<float>(total));
    rescale = 1;
    if (!has_sink) return all;
    const float now = max(most, sink), from = now == -INFINITY ? 0.0f : now;
    rescale = exp(most - from);
    return all * rescale + exp(sink - from);
  }
};

inline float sdpa_result(float sum, float rescale, float total) {
  return total == 0.0f ? 0.0f : sum * rescale / total;
}

// A chunk of keys, and those of them that exist.
struct SdpaChunk {
  ulong first;
  uint last;  // of the keys
  uint key(uint i) const { return min(static_cast<uint>(first) + i, last); }
};

// Keys and values as floats. element + lane is inside of a row.
template <typename T>
struct FloatHeads {
  device const T* keys;
  device const T* values;
  ulong key_row, value_row;

  FloatHeads(device const T* key, device const T* value, constant SdpaArgs& args, uint batch,
             uint head)
      : keys(key + batch * args.key.batch + head * args.key.head),
        values(value + batch * args.value.batch + head * args.value.head),
        key_row(args.key.row),
        value_row(args.value.row) {}
  float key(uint index, uint element, uint lane) const {
    return static_cast<float>((keys + index * key_row + element)[lane]);
  }
  float value(uint index, uint element, uint lane) const {
    return static_cast<float>((values + index * value_row + element)[lane]);
  }
};

// Adds a chunk's values with the weights of M rows to elements `begin` + lane of their results.
// Plain: all rows see all keys. Whole: there are elements for all threads.
template <bool Plain, bool Whole, typename Heads, uint M>
inline void add_values(thread Accumulator* sums, thread const float (&rescale)[M],
                       thread const Heads& heads, uint dim, SdpaChunk chunk,
                       threadgroup const float* weights, uint begin, uint lane) {
  const bool inside = Whole || begin + lane < dim;
  Accumulator own[M];
#pragma unroll
  for (uint m = 0; m < M; ++m) own[m] = static_cast<float>(sums[m]) * rescale[m];
  for (uint from = 0; from < kSdpaKeys; from += 8) {
#pragma unroll
    for (uint i = 0; i < 8; ++i) {
      float value = 0;
      if (inside) value = heads.value(chunk.key(from + i), begin, lane);
#pragma unroll
      for (uint m = 0; m < M; ++m) {
        const float weight = weights[m * kSdpaKeys + from + i];
        const float sum = fma(weight, value, own[m]);
        own[m] = Plain || weight != 0.0f ? sum : static_cast<float>(own[m]);
      }
    }
  }
#pragma unroll
  for (uint m = 0; m < M; ++m) sums[m] = own[m];
}

// To all elements of results of up to D elements.
template <uint D, typename Heads, uint M>
inline void add_all_values(thread Accumulator* sums, thread const float (&rescale)[M],
                           thread const Heads& heads, uint dim, SdpaChunk chunk,
                           threadgroup const float* weights, bool plain, uint lane) {
  for (uint c = 0; c < dim; c += 32) {
    thread Accumulator* to = sums + c / 32 * M;
    if (c + 32 > dim) {
      add_values<false, false>(to, rescale, heads, dim, chunk, weights, c, lane);
    } else if (plain) {
      add_values<true, true>(to, rescale, heads, dim, chunk, weights, c, lane);
    } else {
      add_values<false, true>(to, rescale, heads, dim, chunk, weights, c, lane);
    }
  }
}
