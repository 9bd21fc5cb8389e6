#pragma once

#include <cstdint>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

enum class KvCopyLayout {
  kHeadsFirst,   // [heads, capacity, dim]: what sdpa reads
  kTokensFirst,  // [capacity, heads, dim]
};

// Caches as plain tensors; kv_write is for those of `attention`.
struct KvCopyParams {
  const Buffer& keys;         // f32, f16 or bf16 [tokens, heads, dim]
  const Buffer& values;       // as the keys, with a dim of their own
  const Buffer& key_cache;    // f32, f16, bf16 or q8_0, in the layout
  const Buffer& value_cache;  // of the same dtype, heads and capacity
  uint64_t position = 0;      // of the first token that is copied
  uint64_t first_token = 0;   // of the source
  uint64_t count = 0;         // tokens to copy; 0: all from the first on
  bool ring = false;          // position p lies in row p % capacity; else in row p
  KvCopyLayout layout = KvCopyLayout::kHeadsFirst;
};

// Copies keys and values of tokens to the positions from `position` on, rounded once; other rows
// stay as they are. At most `capacity` tokens, so that no two go to the same row; without a ring
// they must not reach past the last row. kDtypeMismatch, kShapeMismatch, kOutOfRange and
// kInvalidArgument for wrong arguments.
Status kv_copy(ComputeEncoder& encoder, const KvCopyParams& params);

}  // namespace mlxn
