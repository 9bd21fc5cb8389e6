// What cases of ops on a KV cache share.
#pragma once

#include <cstdint>

#include "mlxn/ops/kv/kv_write.h"
#include "mlxn/testing/op_case.h"

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

  // A cache of q8_0: its bytes, and where the codes and the scale of an element lie in it.
  uint64_t code_bytes() const { return sequences * heads * capacity * dim / 32 * 34; }
  uint64_t key_code(uint64_t sequence, uint64_t head, uint64_t position, uint64_t d) const {
    return tile(sequence, head, position) + d / 2 * (2 * kKvTile) + position % kKvTile * 2 + d % 2;
  }
  uint64_t value_code(uint64_t sequence, uint64_t head, uint64_t position, uint64_t d) const {
    return tile(sequence, head, position) + position % kKvTile / 2 * (2 * dim) + 2 * d +
           position % 2;
  }
  uint64_t scale(uint64_t sequence, uint64_t head, uint64_t position, uint64_t d) const {
    return tile(sequence, head, position) + kKvTile * dim +
           (d / 32 * kKvTile + position % kKvTile) * 2;
  }

 private:
  uint64_t tile(uint64_t sequence, uint64_t head, uint64_t position) const {
    const uint64_t row = position % capacity / kKvTile * kKvTile;
    return ((sequence * heads + head) * capacity + row) * dim / 32 * 34;
  }
};

// A buffer of bytes as such a cache, whatever the buffer said of itself.
inline const Accepts kViewedAsCodes = {.sizes = {0}, .dtype = true};
inline Buffer as_codes(const Buffer& bytes, const KvSizes& sizes) {
  return {bytes.storage(), bytes.byte_offset(), bytes.byte_len(), Dtype::kQ8_0, sizes.shape()};
}

}  // namespace mlxn::cases
