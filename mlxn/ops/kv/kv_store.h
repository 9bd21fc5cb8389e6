// MSL: a token's key and value go into a cache, a head by each simdgroup.
#pragma once

#include "mlxn/ops/kv/kv_layout.h"

// Where they go.
template <typename T>
struct KvPlace {
  device T* key;
  device T* value;

  KvPlace(device T* key_cache, device T* value_cache, constant KvWriteArgs& args, uint sequence,
          uint position, uint head) {
    const uint row = position % args.capacity, in_tile = row % kKvTile;
    const ulong tile = kv_tile(sequence, head, row / kKvTile, args.heads, args.capacity, args.dim);
    key = key_cache + tile + kv_key_offset(in_tile, 0);
    value = value_cache + tile + kv_value_offset(in_tile, 0, args.dim);
  }

  void store_key(uint d, float element) const {
    key[kv_key_offset(0, d)] = static_cast<T>(element);
  }
  // All elements of a value; all lanes call.
  void store_value(device const float* from, uint dim, uint lane) const {
    for (uint d = 0; d < dim; d += kKvTile) {
      simdgroup_barrier(mem_flags::mem_none);  // the lanes store side by side
      if (d + lane < dim) (value + 2 * d)[2 * lane] = static_cast<T>((from + d)[lane]);
    }
  }
};
