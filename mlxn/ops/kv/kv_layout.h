// MSL: where keys and values lie in a cache [sequences, heads, capacity, dim]; see kv_write.h.
#pragma once

#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/kv/kv_write_args.h"

// Element 0 of a head's tile of positions; element d of the key at `row` of the tile lies
// d * kKvTile + row behind it, element d of the value row * dim + d.
inline ulong kv_tile(uint sequence, uint head, uint tile, uint heads, uint capacity, uint dim) {
  const ulong first = (static_cast<ulong>(sequence) * heads + head) * capacity;
  return (first + static_cast<ulong>(tile) * kKvTile) * dim;
}
