#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/ops/kv/kv_write_args.h"

namespace mlxn {

// A KV cache is a pair of buffers [sequences, kv_heads, capacity, dim] of f32, f16 or q8_0.
// Position p of a sequence lies in row p % capacity: the cache holds the last `capacity` positions.
// What is multiplied and summed up together lies together, two numbers of a word: keys of a head
// are stored as [capacity / kKvTile, dim / 2, kKvTile, 2], so that elements d and d + 1 of
// neighbouring positions are side by side, values as [capacity / 2, dim, 2], two positions in a
// word. dim is even. With q8_0, which wants a dim that is a multiple of 32, a tile of kKvTile
// positions is 32 * dim codes in this order, a byte each, and then the f16 scales, those of a block
// of 32 elements side by side: as many bytes as q8_0 takes. A code is the element / scale, to
// nearest, and a scale the largest magnitude / 127.
struct KvWriteParams {
  const Buffer& keys;       // f32 [tokens, kv_heads, dim]
  const Buffer& values;     // f32, as the keys
  const Buffer& positions;  // u32 [tokens]
  const Buffer& sequences;  // u32 [tokens]: which sequence a token belongs to
  const Buffer& key_cache;
  const Buffer& value_cache;
};

// Writes keys and values of new tokens into the cache, rounded once. No two tokens may go to the
// same row, so there are at most sequences * capacity of them. A token with a sequence that the
// cache does not have is left out. kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument
// for wrong arguments.
Status kv_write(ComputeEncoder& encoder, const KvWriteParams& params);

// What ops that end with a write share: the checks, whose messages begin with `op`, and the grid,
// a simdgroup for each head of a token.
struct KvWriteSizes {
  uint32_t tokens;
  KvWriteArgs args;
};
Result<KvWriteSizes> check_kv_write(std::string_view op, const KvWriteParams& params);
Status dispatch_kv_write(ComputeEncoder& encoder, const KvWriteSizes& sizes, Dispatch dispatch);

}  // namespace mlxn
