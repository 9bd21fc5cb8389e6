// MSL: where keys and values lie in a cache [sequences, heads, capacity, dim]; see kv_write.h.
#pragma once

#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/kv/kv_write_args.h"

// Element 0 of a head's tile of positions; see kv_key_offset and kv_value_offset.
inline ulong kv_tile(uint sequence, uint head, uint tile, uint heads, uint capacity, uint dim) {
  const ulong first = (static_cast<ulong>(sequence) * heads + head) * capacity;
  return (first + static_cast<ulong>(tile) * kKvTile) * dim;
}

// Element d of the key at `row` of a tile: pairs of elements, those of neighbouring rows side by
// side.
inline uint kv_key_offset(uint row, uint d) {
  return d / 2 * (2 * kKvTile) + row * 2 + d % 2;
}

// Element d of the value at `row` of a tile: pairs of rows, those of neighbouring elements side by
// side.
inline uint kv_value_offset(uint row, uint d, uint dim) {
  return row / 2 * (2 * dim) + d * 2 + row % 2;
}

// Codes of q8_0 lie in a tile as elements would, a byte each. Behind them are the scales of blocks
// of kKvBlock elements: those of a tile's positions side by side, block after block.
constant constexpr uint kKvBlock = 32;

// The byte at which a tile begins that so many elements lie in front of.
inline ulong kv_codes_offset(ulong elements) {
  return elements / kKvBlock * (kKvBlock + 2);
}

template <typename T>
inline device const half* kv_scales(device const T* tile, uint dim) {
  return reinterpret_cast<device const half*>(reinterpret_cast<device const uchar*>(tile) +
                                              dim * kKvTile);
}
