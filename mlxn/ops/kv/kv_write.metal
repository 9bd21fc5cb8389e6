// kv_write_{f32,f16}: puts keys and values of new tokens into the cache of that type.
// Buffers: 0 keys and 1 values [tokens, heads, dim] float, 2 positions and 3 sequences [tokens],
// 4 cache of keys, 5 cache of values, 6 KvWriteArgs. Grid: a thread for each element, (dim, heads,
// tokens); any threadgroup. Tokens of sequences that are not there are left out.
#include "mlxn/ops/kv/kv_layout.h"
#include "mlxn/ops/kv/kv_write_args.h"

template <typename T>
[[kernel]] void kv_write(device const float* keys [[buffer(0)]],
                         device const float* values [[buffer(1)]],
                         device const uint* positions [[buffer(2)]],
                         device const uint* sequences [[buffer(3)]],
                         device T* key_cache [[buffer(4)]], device T* value_cache [[buffer(5)]],
                         constant KvWriteArgs& args [[buffer(6)]],
                         uint3 place [[thread_position_in_grid]]) {
  const uint d = place.x, head = place.y, token = place.z;
  const uint sequence = sequences[token], row = positions[token] % args.capacity;
  if (sequence >= args.sequences) return;
  const ulong from = (static_cast<ulong>(token) * args.heads + head) * args.dim + d;
  const ulong tile = kv_tile(sequence, head, row / kKvTile, args.heads, args.capacity, args.dim);
  const ulong in_tile = row % kKvTile;
  key_cache[tile + d * kKvTile + in_tile] = static_cast<T>(keys[from]);
  value_cache[tile + in_tile * args.dim + d] = static_cast<T>(values[from]);
}

MLXN_KERNEL("kv_write_f32", kv_write, float);
MLXN_KERNEL("kv_write_f16", kv_write, half);
