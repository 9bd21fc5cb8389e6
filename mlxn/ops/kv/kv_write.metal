// kv_write_{f32,f16}: puts keys and values of new tokens into the cache of that type.
// Buffers: 0 keys and 1 values [tokens, heads, dim] float, 2 positions and 3 sequences [tokens],
// 4 cache of keys, 5 cache of values, 6 KvWriteArgs. Grid: threadgroups of 32 threads, (heads,
// tokens). Tokens of sequences that are not there are left out.
#include "mlxn/ops/kv/kv_store.h"

template <typename T>
[[kernel, max_total_threads_per_threadgroup(kKvTile)]] void kv_write(
    device const float* keys [[buffer(0)]], device const float* values [[buffer(1)]],
    device const uint* positions [[buffer(2)]], device const uint* sequences [[buffer(3)]],
    device T* key_cache [[buffer(4)]], device T* value_cache [[buffer(5)]],
    constant KvWriteArgs& args [[buffer(6)]], uint2 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  const uint head = group.x, token = group.y, sequence = sequences[token];
  if (sequence >= args.sequences) return;
  const KvPlace<T> place(key_cache, value_cache, args, sequence, positions[token], head);
  const ulong from = (static_cast<ulong>(token) * args.heads + head) * args.dim;
  for (uint d = 0; d < args.dim; d += kKvTile) {
    simdgroup_barrier(mem_flags::mem_none);  // the lanes store side by side
    if (d + lane < args.dim) place.store_key(d + lane, (keys + from + d)[lane]);
  }
  place.store_value(values + from, args.dim, lane);
}

MLXN_KERNEL("kv_write_f32", kv_write, float);
MLXN_KERNEL("kv_write_f16", kv_write, half);
