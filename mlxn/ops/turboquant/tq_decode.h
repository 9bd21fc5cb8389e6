#pragma once

#include <cstdint>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct TqDecodeParams {
  const Buffer& codes;     // as tq_encode writes them
  const Buffer& norms;     // as tq_encode writes them
  const Buffer& output;    // f32 [tokens, heads, dim]
  uint32_t bits = 4;       // 4, 5, 6 or 8
  uint64_t position = 0;   // of the first token
  bool ring = false;       // position p lies in row p % capacity; else in row p
  float scale_factor = 1;  // as it was encoded with
};

// output = the values of the rows at positions from `position` on, rotated as they were encoded:
// hadamard with signs after, or without signs below 256 elements, turns them back. kDtypeMismatch,
// kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status tq_decode(ComputeEncoder& encoder, const TqDecodeParams& params);

}  // namespace mlxn
