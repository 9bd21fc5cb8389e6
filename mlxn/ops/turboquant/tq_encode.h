#pragma once

#include <cstdint>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

// A cache of keys or values in codes. A row of `dim` elements is rotated by a Hadamard matrix, from
// 256 elements on with the signs of signs.h before, so that its elements look independent and
// normal. Then it is scaled to unit variance by its norm, and each element becomes the code of the
// nearest value of a codebook (codebooks.h), of two that are as near the lower one. Up to 256
// elements a row has one norm, its length; 512 elements have two, the root mean square of each
// half, and the scale factor.
struct TqEncodeParams {
  const Buffer& input;    // f32, f16 or bf16 [tokens, heads, dim]; dim is 64, 128, 256 or 512
  const Buffer& codes;    // u8 [heads, capacity, dim / 2] for 4 bits, the even element in the low
                          // half of a byte, else [heads, capacity, dim]
  const Buffer& norms;    // f32 [heads, capacity, 1], for a dim of 512 [heads, capacity, 2]
  uint32_t bits = 4;      // 4, 5, 6 or 8
  uint64_t position = 0;  // of the first token that is encoded
  uint64_t first_token = 0;  // of the input
  uint64_t count = 0;        // tokens to encode; 0: all from the first on
  bool ring = false;         // position p lies in row p % capacity; else in row p
  float scale_factor = 1;    // for a dim of 512; below 1e-6: 1
};

// Encodes tokens into the rows of their positions; other rows stay as they are. A row whose norm is
// at most 1e-10 gets codes of zero. At most `capacity` tokens, and without a ring none past the
// last row. kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status tq_encode(ComputeEncoder& encoder, const TqEncodeParams& params);

}  // namespace mlxn
