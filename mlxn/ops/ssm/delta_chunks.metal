// The gated delta rule by chunks of up to 64 tokens. Buffers of all kernels are at the same places:
// 0 queries, 1 keys, 2 values, 3 gate, 4 beta, 5 state, 6 output, 7 new state; 8 lengths, 9 decays,
// 10 inverses, 11 products, 12 w, 13 u, 14 states (see DeltaChunkScratch); 15 DeltaNetArgs. A
// kernel takes those that it needs. Threadgroups of 32 threads but for delta_decays.
//   delta_lengths_{f32,bf16}   grid (tokens, key_heads, sequences)
//   delta_decays_f32           a thread for each head of a chunk, (heads, chunks, sequences)
//   delta_products_{f32,bf16}  grid (2, chunks * heads, sequences): A, then P
//   delta_inverses_f32         grid (1, chunks * heads, sequences)
//   delta_updates_{f32,bf16}   grid (columns of w / 32 + of u / 32, chunks * heads, sequences)
//   delta_states_{f32,bf16}    grid (value_dim / 32, heads, sequences)
//   delta_output_{f32,bf16}    grid (value_dim / 32, chunks * heads, sequences)
// Tokens behind the last one count as keys, values and betas of 0 without decay.
#include "mlxn/ops/ssm/delta_net_rows.h"

constant constexpr uint kSlice = 16;  // elements of keys at a time
constant constexpr uint kRun = 8;     // rows at a time

// Where a chunk of a head stands.
struct Chunk {
  uint sequence, head, first;  // its first token
  ulong block;                 // among all

  Chunk(uint in_sequence, uint of_head, uint n, constant DeltaNetArgs& args)
      : sequence(in_sequence), head(of_head), first(n * args.chunk) {
    block = (static_cast<ulong>(sequence) * args.chunks + n) * args.heads + head;
  }
  // Tokens behind the last one read from it.
  uint token(uint i, constant DeltaNetArgs& args) const { return min(first + i, args.tokens - 1); }
  bool has(uint i, constant DeltaNetArgs& args) const { return first + i < args.tokens; }
  float beta(device const float* betas, uint i, constant DeltaNetArgs& args) const {
    const float beta = betas[gate_at(sequence, token(i, args), head, args)];
    return has(i, args) ? beta : 0.0f;
  }
  float decay(device const float* decays, uint i, constant DeltaNetArgs& args) const {
    const ulong row = static_cast<ulong>(sequence) * args.chunks * args.chunk + first + i;
    return decays[row * args.heads + head];
  }
};

// Columns of u and of states: whole simdgroups.
inline uint padded_values(constant DeltaNetArgs& args) {
  return (args.value_dim + 31) / 32 * 32;
}

// Factors of a token's query and key.
struct Lengths {
  device const float* queries;
  device const float* keys;

  Lengths(device const float* lengths, constant DeltaNetArgs& args)
      : queries(lengths),
        keys(lengths + static_cast<ulong>(args.sequences) * args.tokens * args.key_heads) {}
};
inline ulong length_at(uint sequence, uint token, uint key, constant DeltaNetArgs& args) {
  return (static_cast<ulong>(sequence) * args.tokens + token) * args.key_heads + key;
}

template <typename T>
[[kernel, max_total_threads_per_threadgroup(32)]] void delta_lengths(
    device const T* queries [[buffer(0)]], device const T* keys [[buffer(1)]],
    device float* lengths [[buffer(8)]], constant DeltaNetArgs& args [[buffer(15)]],
    uint3 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const ulong row = key_row(group.z, group.x, group.y, args);
  const ulong at = length_at(group.z, group.x, group.y, args);
  const float query = args.scale * inverse_length(queries + row, args, lane);
  const float key = inverse_length(keys + row, args, lane);
  if (lane != 0) return;
  lengths[at] = query;
  lengths[static_cast<ulong>(args.sequences) * args.tokens * args.key_heads + at] = key;
}

[[kernel]] void delta_decays_f32(device const float* gate [[buffer(3)]],
                                 device float* decays [[buffer(9)]],
                                 constant DeltaNetArgs& args [[buffer(15)]],
                                 uint3 place [[thread_position_in_grid]]) {
  const uint head = place.x, first = place.y * args.chunk;
  const ulong padded = static_cast<ulong>(place.z) * args.chunks * args.chunk;
  Accumulator sum = 0;
  for (uint i = 0; i < args.chunk; ++i) {
    const uint token = min(first + i, args.tokens - 1);
    const float own = args.gate_sign * gate[gate_at(place.z, token, head, args)];
    sum += first + i < args.tokens ? own : 0.0f;
    decays[(padded + first + i) * args.heads + head] = sum;
  }
}

template <typename T>
[[kernel, max_total_threads_per_threadgroup(32)]] void delta_products(
    device const T* queries [[buffer(0)]], device const T* keys [[buffer(1)]],
    device const float* beta [[buffer(4)]], device const float* lengths [[buffer(8)]],
    device const float* decays [[buffer(9)]], device float* inverses [[buffer(10)]],
    device float* products [[buffer(11)]], constant DeltaNetArgs& args [[buffer(15)]],
    uint3 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  threadgroup Accumulator tile[kDeltaMostChunk][kDeltaMostChunk];
  threadgroup float left[kSlice][kDeltaMostChunk], right[kSlice][kDeltaMostChunk];
  threadgroup float chunk_decays[kDeltaMostChunk];
  const Chunk chunk(group.z, group.y % args.heads, group.y / args.heads, args);
  const bool of_queries = group.x == 1;
  const uint key = key_head(chunk.head, args), size = args.chunk, width = max(size, 32u);
  const Lengths factors(lengths, args);
  for (uint i = 0; i < size; ++i) {
    for (uint column = 0; column < kDeltaMostChunk; column += 32) tile[i][column + lane] = 0;
  }
  for (uint column = 0; column < kDeltaMostChunk; column += 32) {
    chunk_decays[column + lane] = chunk.decay(decays, min(column + lane, size - 1), args);
  }
  for (uint slice = 0; slice < args.key_dim; slice += kSlice) {
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = lane; i < width; i += 32) {  // a lane for each token
      const uint token = chunk.token(i, args);
      const ulong row = key_row(chunk.sequence, token, key, args) + slice;
      const ulong at = length_at(chunk.sequence, token, key, args);
      const float present = i < size && chunk.has(i, args) ? 1.0f : 0.0f;
      const float factor = of_queries ? factors.queries[at] : factors.keys[at];
      for (uint d = 0; d < kSlice; ++d) {
        const float k = static_cast<float>(keys[row + d]);
        const float q = of_queries ? static_cast<float>(queries[row + d]) : k;
        left[d][i] = q * factor * present;
        right[d][i] = k * factors.keys[at] * present;
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < size; i += kRun) {
      for (uint column = 0; column < width; column += 32) {
        simdgroup_barrier(mem_flags::mem_none);  // all lanes side by side
        float sums[kRun] = {};
        for (uint d = 0; d < kSlice; ++d) {
          const float x = right[d][column + lane];
          for (uint r = 0; r < kRun; ++r) sums[r] += left[d][i + r] * x;
        }
        for (uint r = 0; r < kRun; ++r) tile[i + r][column + lane] += sums[r];
      }
    }
  }
  device float* to = (of_queries ? products : inverses) + chunk.block * size * size;
  for (uint i = 0; i < size; ++i) {
    const float factor = of_queries ? 1.0f : chunk.beta(beta, i, args);
    const uint end = of_queries ? i + 1 : i;
    for (uint column = 0; column < size; column += 32) {
      simdgroup_barrier(mem_flags::mem_none);
      const uint j = column + lane;
      const float decay = exp(min(chunk_decays[i] - chunk_decays[j], 0.0f));
      const float value = static_cast<float>(tile[i][j]) * factor * decay;
      if (j < size) (to + i * size)[j] = j < end ? value : 0.0f;
    }
  }
}

[[kernel, max_total_threads_per_threadgroup(32)]] void delta_inverses_f32(
    device float* inverses [[buffer(10)]], constant DeltaNetArgs& args [[buffer(15)]],
    uint3 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float tile[kDeltaMostChunk][kDeltaMostChunk];
  const Chunk chunk(group.z, group.y % args.heads, group.y / args.heads, args);
  const uint size = args.chunk;
  device float* own = inverses + chunk.block * size * size;
  for (uint i = 0; i < size; ++i) {
    for (uint column = 0; column < kDeltaMostChunk; column += 32) {
      simdgroup_barrier(mem_flags::mem_none);
      float a = 0;
      if (column + lane < i) a = (own + i * size)[column + lane];
      tile[i][column + lane] = a;
    }
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
  // Row by row in place: above row i stands the inverse, from it on A, which is 0 behind its end.
  for (uint i = 0; i < size; ++i) {
    Accumulator sums[2] = {};
    for (uint m = 0; m < i; m += 8) {
      simdgroup_barrier(mem_flags::mem_none);
      for (uint n = 0; n < 8; ++n) {
        sums[0] += tile[i][m + n] * tile[m + n][lane];
        sums[1] += tile[i][m + n] * tile[m + n][lane + 32];
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    tile[i][lane] = (i == lane ? 1.0f : 0.0f) - sums[0];
    tile[i][lane + 32] = (i == lane + 32 ? 1.0f : 0.0f) - sums[1];
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (uint i = 0; i < size; ++i) {
    for (uint column = 0; column < size; column += 32) {
      simdgroup_barrier(mem_flags::mem_none);
      if (column + lane < size) (own + i * size)[column + lane] = tile[i][column + lane];
    }
  }
}

// Rows, of which those behind the last one are the last one.
template <typename T>
struct RowsOf {
  device const T* first;
  ulong stride;
  uint last;
  device const T* row(uint i) const { return first + min(i, last) * stride; }
};

// Queries or keys of a chunk from token i on.
template <typename T>
inline RowsOf<T> chunk_rows(device const T* tensor, Chunk chunk, uint key, uint i,
                            constant DeltaNetArgs& args) {
  return {tensor + key_row(chunk.sequence, chunk.first + i, key, args),
          static_cast<ulong>(args.key_heads) * args.key_dim, args.tokens - 1 - chunk.first - i};
}

// Adds the products of kRun rows and a column of `count` elements, a multiple of 8. All lanes call,
// each with a column of its own, and go through it side by side.
template <typename T, typename Column>
inline void add_products(RowsOf<T> rows, Column column, uint stride, uint count,
                         thread Accumulator* sums) {
  for (uint d = 0; d < count; d += 8) {
    simdgroup_barrier(mem_flags::mem_none);
    for (uint e = 0; e < 8; ++e) {
      const float x = column[(d + e) * stride];
      for (uint r = 0; r < kRun; ++r) sums[r] += static_cast<float>(rows.row(r)[d + e]) * x;
    }
  }
}

template <typename T>
[[kernel, max_total_threads_per_threadgroup(32)]] void delta_updates(
    device const T* keys [[buffer(1)]], device const T* values [[buffer(2)]],
    device const float* beta [[buffer(4)]], device const float* lengths [[buffer(8)]],
    device const float* decays [[buffer(9)]], device const float* inverses [[buffer(10)]],
    device float* w [[buffer(12)]], device float* u [[buffer(13)]],
    constant DeltaNetArgs& args [[buffer(15)]], uint3 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float columns[kDeltaMostChunk][32];
  const Chunk chunk(group.z, group.y % args.heads, group.y / args.heads, args);
  const uint size = args.chunk, key_groups = (args.key_dim + 31) / 32;
  const bool of_keys = group.x < key_groups;
  const uint dim = of_keys ? args.key_dim : args.value_dim;
  const uint column = (of_keys ? group.x : group.x - key_groups) * 32 + lane;
  const uint key = key_head(chunk.head, args);
  const Lengths factors(lengths, args);
  for (uint i = 0; i < size; ++i) {
    simdgroup_barrier(mem_flags::mem_none);
    const uint token = chunk.token(i, args);
    const float weight = chunk.beta(beta, i, args);
    float value = 0;
    if (of_keys) {
      const float factor = factors.keys[length_at(chunk.sequence, token, key, args)] *
                           exp(chunk.decay(decays, i, args));
      device const T* row = keys + key_row(chunk.sequence, token, key, args);
      if (column < dim) value = static_cast<float>(row[column]) * factor;
    } else {
      device const T* row = values + gate_at(chunk.sequence, token, chunk.head, args) * dim;
      if (column < dim) value = static_cast<float>(row[column]);
    }
    columns[i][lane] = value * weight;
  }
  const uint stride = of_keys ? args.key_dim : padded_values(args);
  device float* to = (of_keys ? w : u) + (chunk.block * size * stride + column);
  for (uint i = 0; i < size; i += kRun) {
    Accumulator sums[kRun] = {};
    const RowsOf<float> rows = {inverses + (chunk.block * size + i) * size, size, kRun - 1};
    add_products(rows, &columns[0][lane], 32, i + kRun, sums);  // it is 0 behind the diagonal
    for (uint r = 0; r < kRun; ++r) {
      simdgroup_barrier(mem_flags::mem_none);  // the lanes store side by side
      if (column < stride) to[(i + r) * stride] = sums[r];
    }
  }
}

template <typename T>
[[kernel, max_total_threads_per_threadgroup(32)]] void delta_states(
    device const T* keys [[buffer(1)]], device const float* state [[buffer(5)]],
    device float* new_state [[buffer(7)]], device const float* lengths [[buffer(8)]],
    device const float* decays [[buffer(9)]], device const float* w [[buffer(12)]],
    device float* u [[buffer(13)]], device float* states [[buffer(14)]],
    constant DeltaNetArgs& args [[buffer(15)]], uint3 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float changes[kDeltaMostChunk][32];
  const uint head = group.y, sequence = group.z, size = args.chunk;
  const uint keys_dim = args.key_dim, stride = padded_values(args);
  const uint column = group.x * 32 + lane, own = min(column, args.value_dim - 1);
  const bool is_there = column < args.value_dim;
  const uint key = key_head(head, args);
  const Lengths factors(lengths, args);
  const ulong state_row =
      ((static_cast<ulong>(sequence) * args.heads + head) * args.value_dim + own) * keys_dim;
  const Chunk start(sequence, head, 0, args);
  device float* before = states + (start.block * keys_dim * stride + column);
  for (uint d = 0; d < keys_dim; ++d) {
    simdgroup_barrier(mem_flags::mem_none);
    const float cell = state[state_row + d];
    before[d * stride] = is_there ? cell : 0.0f;
  }
  for (uint n = 0; n < args.chunks; ++n) {
    const Chunk chunk(sequence, head, n, args);
    device float* cells = states + (chunk.block * keys_dim * stride + column);
    device const float* rows = w + chunk.block * size * keys_dim;
    device float* values = u + (chunk.block * size * stride + column);
    const float end = chunk.decay(decays, size - 1, args);
    for (uint i = 0; i < size; i += kRun) {
      Accumulator sums[kRun] = {};
      const RowsOf<float> own_rows = {rows + i * keys_dim, keys_dim, kRun - 1};
      add_products(own_rows, cells, stride, keys_dim, sums);
      for (uint r = 0; r < kRun; ++r) {
        simdgroup_barrier(mem_flags::mem_none);  // the lanes store side by side
        const float change = values[(i + r) * stride] - sums[r];
        const float factor = exp(end - chunk.decay(decays, i + r, args)) *
                             factors.keys[length_at(sequence, chunk.token(i + r, args), key, args)];
        changes[i + r][lane] = chunk.has(i + r, args) ? change * factor : 0.0f;
        values[(i + r) * stride] = change;
      }
    }
    const bool last = n + 1 == args.chunks;
    device float* next = cells + static_cast<ulong>(args.heads) * keys_dim * stride;
    const float decay = exp(end);
    const RowsOf<T> token_keys = chunk_rows(keys, chunk, key, 0, args);
    for (uint d = 0; d < keys_dim; d += kRun) {
      Accumulator sums[kRun] = {};
      for (uint i = 0; i < size; i += 8) {
        simdgroup_barrier(mem_flags::mem_none);
        for (uint m = 0; m < 8; ++m) {
          const float change = changes[i + m][lane];
          device const T* row = token_keys.row(i + m) + d;
          for (uint r = 0; r < kRun; ++r) sums[r] += static_cast<float>(row[r]) * change;
        }
      }
      for (uint r = 0; r < kRun; ++r) {
        simdgroup_barrier(mem_flags::mem_none);
        const float cell = decay * cells[(d + r) * stride] + sums[r];
        if (!last) {
          next[(d + r) * stride] = cell;
        } else if (is_there) {
          new_state[state_row + d + r] = cell;
        }
      }
    }
  }
}

template <typename T>
[[kernel, max_total_threads_per_threadgroup(32)]] void delta_output(
    device const T* queries [[buffer(0)]], device T* output [[buffer(6)]],
    device const float* lengths [[buffer(8)]], device const float* decays [[buffer(9)]],
    device const float* products [[buffer(11)]], device const float* u [[buffer(13)]],
    device const float* states [[buffer(14)]], constant DeltaNetArgs& args [[buffer(15)]],
    uint3 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float changes[kDeltaMostChunk][32];
  const Chunk chunk(group.z, group.y % args.heads, group.y / args.heads, args);
  const uint size = args.chunk, keys_dim = args.key_dim, stride = padded_values(args);
  const uint column = group.x * 32 + lane;
  const uint key = key_head(chunk.head, args);
  const Lengths factors(lengths, args);
  device const float* cells = states + (chunk.block * keys_dim * stride + column);
  device const float* values = u + (chunk.block * size * stride + column);
  for (uint i = 0; i < size; ++i) {
    simdgroup_barrier(mem_flags::mem_none);
    changes[i][lane] = values[i * stride];
  }
  for (uint i = 0; i < size && chunk.has(i, args); i += kRun) {
    Accumulator sums[kRun] = {};
    add_products(chunk_rows(queries, chunk, key, i, args), cells, stride, keys_dim, sums);
    for (uint r = 0; r < kRun; ++r) {
      const ulong at = length_at(chunk.sequence, chunk.token(i + r, args), key, args);
      sums[r] *= factors.queries[at] * exp(chunk.decay(decays, i + r, args));
    }
    const RowsOf<float> rows = {products + (chunk.block * size + i) * size, size, kRun - 1};
    add_products(rows, &changes[0][lane], 32, i + kRun, sums);  // they are 0 behind the diagonal
    for (uint r = 0; r < kRun; ++r) {
      simdgroup_barrier(mem_flags::mem_none);  // the lanes store side by side
      const ulong row =
          gate_at(chunk.sequence, chunk.token(i + r, args), chunk.head, args) * args.value_dim;
      if (column < args.value_dim && chunk.has(i + r, args)) {
        (output + row)[column] = static_cast<T>(static_cast<float>(sums[r]));
      }
    }
  }
}

MLXN_KERNEL("delta_lengths_f32", delta_lengths, float);
MLXN_KERNEL("delta_lengths_bf16", delta_lengths, bfloat);
MLXN_KERNEL("delta_products_f32", delta_products, float);
MLXN_KERNEL("delta_products_bf16", delta_products, bfloat);
MLXN_KERNEL("delta_updates_f32", delta_updates, float);
MLXN_KERNEL("delta_updates_bf16", delta_updates, bfloat);
MLXN_KERNEL("delta_states_f32", delta_states, float);
MLXN_KERNEL("delta_states_bf16", delta_states, bfloat);
MLXN_KERNEL("delta_output_f32", delta_output, float);
MLXN_KERNEL("delta_output_bf16", delta_output, bfloat);
