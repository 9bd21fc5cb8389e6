#pragma once

#include <cstdint>

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/graph/fusion.h"

namespace mlxn {

struct AttentionParams {
  const Buffer& queries;  // f32 [tokens, heads, dim]; dim at most 256, a multiple of 8
  const Buffer&
      key_cache;  // f32, f16 or q8_0 [sequences, kv_heads, capacity, dim], see kv_write.h;
  const Buffer& value_cache;  // heads are a multiple of kv_heads and share them in order
  const Buffer& positions;    // u32 [tokens]
  const Buffer& sequences;    // u32 [tokens]
  const Buffer& output;       // f32 [tokens, heads, dim]; may be the queries; or see below
  float scale = 0;            // of the scores; 0: 1 / sqrt(dim)
  uint32_t window = 0;        // a token sees this many keys, its own included; 0: all of them
  float soft_cap = 0;         // scores become cap * tanh(score / cap); 0: no cap
  bool rounded = false;       // what is multiplied is rounded to bf16; not for f32, always for q8_0
};

// output = softmax(scale * q k^T) v for every token and head, over the keys of its sequence at its
// own position and before; the cache must hold them, written by kv_write before. One token or many,
// of any sequences. With more than `capacity` positions the last `capacity` are seen. Computed in
// float with a running maximum, in an order that depends on the token's position alone: a token has
// the same bits alone and among others. Rounded, what is multiplied is bf16: queries times the
// scale, keys, values, and weights; an infinity in the cache counts as 65536; the output may then
// be i32 rounded_shape(tokens, heads * dim), with dim a multiple of 32: what quantise_rows makes of
// the results. A token with a sequence that the cache does not have gives zeros. kDtypeMismatch,
// kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status attention(ComputeEncoder& encoder, const AttentionParams& params);

extern const FusionRule kAttentionQuantiseRule;  // for rounded attention

}  // namespace mlxn
