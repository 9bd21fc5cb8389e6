#pragma once

#include "mlxn/core/encoder.h"
#include "mlxn/core/kernel_registry.h"

namespace mlxn {

// A KV cache is a pair of buffers [sequences, kv_heads, capacity, dim] of f32 or f16. The key of
// position p lies in row p % capacity of its sequence: the cache holds the last `capacity`
// positions.
struct KvWriteParams {
  const Buffer& keys;       // f32 [tokens, kv_heads, dim]
  const Buffer& values;     // f32, as the keys
  const Buffer& positions;  // u32 [tokens]
  const Buffer& sequences;  // u32 [tokens]: which sequence a token belongs to
  const Buffer& key_cache;
  const Buffer& value_cache;
};

// Writes keys and values of new tokens into the cache, rounded once. No two tokens may go to the
// same row; there may be at most `capacity` of them for each sequence, so at most sequences *
// capacity. A token with a sequence that the cache does not have is left out. kDtypeMismatch,
// kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status kv_write(ComputeEncoder& encoder, KernelRegistry& registry, const KvWriteParams& params);

}  // namespace mlxn
