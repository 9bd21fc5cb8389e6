// rope_kv_write_{adjacent,halves}_{f32,f16}: keys turned and written into a cache of that type with
// their values, with the bits of rope followed by kv_write. Buffers: 0 keys, 1 values, 2 table of
// cosine and sine [tokens, pairs], 3 positions, 4 sequences, 5 cache of keys, 6 cache of values,
// 7 RopeKvWriteArgs. Grid: as kv_write.
#include "mlxn/ops/kv/kv_store.h"
#include "mlxn/ops/kv/rope_kv_write_args.h"
#include "mlxn/ops/rope/rope_pairs.h"

template <typename Pairs, typename T>
[[kernel, max_total_threads_per_threadgroup(kKvTile)]] void rope_kv_write(
    device const float* keys [[buffer(0)]], device const float* values [[buffer(1)]],
    device const float2* table [[buffer(2)]], device const uint* positions [[buffer(3)]],
    device const uint* sequences [[buffer(4)]], device T* key_cache [[buffer(5)]],
    device T* value_cache [[buffer(6)]], constant RopeKvWriteArgs& args [[buffer(7)]],
    uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const uint head = group.x, token = group.y, sequence = sequences[token];
  if (sequence >= args.cache.sequences) return;
  const KvPlace<T> place(key_cache, value_cache, args.cache, sequence, positions[token], head);
  const uint dim = args.cache.dim, pairs = args.pairs;
  const ulong from = (static_cast<ulong>(token) * args.cache.heads + head) * dim;
  device const float2* turns = table + static_cast<ulong>(token) * pairs;
  for (uint first = 0; first < dim / 2; first += kKvTile) {
    simdgroup_barrier(mem_flags::mem_none);  // the lanes store side by side
    const uint i = first + lane;
    if (i >= dim / 2) continue;
    const uint2 at = Pairs::elements(i, pairs);
    float2 pair = {keys[from + at.x], keys[from + at.y]};
    if (i < pairs) pair = turned(pair, turns[i]);
    place.store_key(at.x, pair.x);
    place.store_key(at.y, pair.y);
  }
  place.store_value(values + from, dim, lane);
}

MLXN_KERNEL("rope_kv_write_adjacent_f32", rope_kv_write, Adjacent, float);
MLXN_KERNEL("rope_kv_write_adjacent_f16", rope_kv_write, Adjacent, half);
MLXN_KERNEL("rope_kv_write_halves_f32", rope_kv_write, Halves, float);
MLXN_KERNEL("rope_kv_write_halves_f16", rope_kv_write, Halves, half);
