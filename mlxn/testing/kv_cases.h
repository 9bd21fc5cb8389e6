// What cases of ops on a KV cache share.
#pragma once

#include <cstdint>

#include "mlxn/ops/kv/kv_write.h"

namespace mlxn::cases {

// Sizes of a cache [sequences, heads, capacity, dim] and where an element of position p lies in it.
struct KvSizes {
  uint64_t sequences, heads, capacity, dim;

  Shape shape() const { return {sequences, heads, capacity, dim}; }
  uint64_t key(uint64_t sequence, uint64_t head, uint64_t position, uint64_t d) const {
    const uint64_t row = position % capacity, tile = row / kKvTile * kKvTile;
    return ((sequence * heads + head) * capacity + tile) * dim + d / 2 * (2 * kKvTile) +
           row % kKvTile * 2 + d % 2;
  }
  uint64_t value(uint64_t sequence, uint64_t head, uint64_t position, uint64_t d) const {
    const uint64_t row = position % capacity;
    return ((sequence * heads + head) * capacity + row / 2 * 2) * dim + 2 * d + row % 2;
  }
};

}  // namespace mlxn::cases
