#pragma once

#include <cstdint>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct TqAttentionParams {
  const Buffer& queries;    // f32, f16 or bf16 [heads, dim], rotated as the keys are: hadamard with
                            // signs before, without signs below 256 elements
  const Buffer& key_codes;  // as tq_encode writes them, for kv_heads
  const Buffer& key_norms;
  const Buffer& value_codes;
  const Buffer& value_norms;
  const Buffer& output;     // f32, f16 or bf16 [heads, dim], rotated: hadamard with signs after
                            // turns it back
  uint32_t bits = 4;        // 4, 5, 6 or 8
  uint64_t length = 0;      // rows 0 up to this one hold keys; 0: all rows
  uint64_t ring_start = 0;  // row of the oldest key
  uint64_t window = 0;      // keys that are seen, the latest ones; 0: all
  float scale = 0;          // of the scores; 0: 1 / sqrt(dim)
  float soft_cap = 0;       // scores become cap * tanh(score / cap); 0: no cap
  float scale_factor = 1;   // as it was encoded with
};

// output = softmax(scale * q k^T) v for one query behind all keys. A row's age counts from the
// oldest one on, around the ring; rows whose age is `length` or more are not seen. Rows from
// `length` on are not read. Heads are a multiple of kv_heads and share them in order. Computed in
// float and rounded once. kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for
// wrong arguments.
Status tq_attention(ComputeEncoder& encoder, const TqAttentionParams& params);

}  // namespace mlxn
