// kv_write_{f32,f16,q8_0}: puts keys and values of new tokens into the cache of that type.
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

// A block of 32 elements, one by each thread, becomes codes and a scale; all lanes call.
inline void store_block(device char* code, device half* scale, float element, uint lane) {
  const float largest = as_type<float>(simd_max(as_type<uint>(element) & 0x7fffffffu));
  const half rounded = static_cast<half>(largest / 127.0f);
  const float step = static_cast<float>(rounded);
  const float steps = step == 0.0f ? 0.0f : rint(element / step);
  *code = static_cast<char>(clamp(steps, -127.0f, 127.0f));
  if (lane == 0) *scale = rounded;
}

// The same for a cache of q8_0.
[[kernel, max_total_threads_per_threadgroup(kKvTile)]] void kv_write_q8_0(
    device const float* keys [[buffer(0)]], device const float* values [[buffer(1)]],
    device const uint* positions [[buffer(2)]], device const uint* sequences [[buffer(3)]],
    device char* key_cache [[buffer(4)]], device char* value_cache [[buffer(5)]],
    constant KvWriteArgs& args [[buffer(6)]], uint2 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  const uint head = group.x, token = group.y, sequence = sequences[token];
  if (sequence >= args.sequences) return;
  const uint row = positions[token] % args.capacity, in_tile = row % kKvTile;
  const ulong tile =
      kv_codes_offset(kv_tile(sequence, head, row / kKvTile, args.heads, args.capacity, args.dim));
  const ulong from = (static_cast<ulong>(token) * args.heads + head) * args.dim;
  device half* key_scales = reinterpret_cast<device half*>(key_cache + tile + args.dim * kKvTile);
  device half* value_scales =
      reinterpret_cast<device half*>(value_cache + tile + args.dim * kKvTile);
  for (uint d = 0; d < args.dim; d += kKvBlock) {
    const uint scale = d / kKvBlock * kKvTile + in_tile;
    store_block(key_cache + tile + kv_key_offset(in_tile, d + lane), key_scales + scale,
                (keys + from + d)[lane], lane);
    store_block(value_cache + tile + kv_value_offset(in_tile, d + lane, args.dim),
                value_scales + scale, (values + from + d)[lane], lane);
  }
}

MLXN_KERNEL("kv_write_f32", kv_write, float);
MLXN_KERNEL("kv_write_f16", kv_write, half);
