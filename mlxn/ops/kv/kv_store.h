// MSL: a token's key and value go into a cache, a head by each simdgroup.
#pragma once

#include "mlxn/ops/kv/kv_layout.h"

// Where they go.
template <typename T>
struct KvPlace {
  device T* key;    // elements are kKvTile apart
  device T* value;  // elements are side by side

  KvPlace(device T* key_cache, device T* value_cache, constant KvWriteArgs& args, uint sequence,
          uint position, uint head) {
    const uint row = position % args.capacity, in_tile = row % kKvTile;
    const ulong tile = kv_tile(sequence, head, row / kKvTile, args.heads, args.capacity, args.dim);
    key = key_cache + tile + in_tile;
    value = value_cache + tile + static_cast<ulong>(in_tile) * args.dim;
  }

  void store_key(uint d, float element) const { key[d * kKvTile] = static_cast<T>(element); }
  // All elements of a value; all lanes call.
  void store_value(device const float* from, uint dim, uint lane) const {
    for (uint d = 0; d < dim; d += kKvTile) {
      simdgroup_barrier(mem_flags::mem_none);  // the lanes store side by side
      if (d + lane < dim) (value + d)[lane] = static_cast<T>((from + d)[lane]);
    }
  }
};
