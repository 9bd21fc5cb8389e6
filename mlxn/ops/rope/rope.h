#pragma once

#include <cstdint>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

// Which elements of a head turn together, with r the number of rotary dimensions.
enum class RopePairs {
  kAdjacent,  // 2i and 2i + 1 ("normal")
  kHalves,    // i and i + r/2 ("neox")
};

struct RopeParams {
  const Buffer& input;      // f32 [tokens, heads, dim]
  const Buffer& positions;  // u32 [tokens]
  const Buffer& output;     // as the input; may be the input
  RopePairs pairs = RopePairs::kAdjacent;
  uint32_t rotary_dims = 0;  // r: even, at most dim; 0: all. The rest of a head is copied.
  float base = 10000;
  float scale = 1;                            // of positions; 0.25 stretches the context by 4
  const Buffer* frequency_factors = nullptr;  // f32 [r/2]: pair i turns slower by this factor
};

// Turns pair i of every head by position * scale * base^(-2i/r) / factor[i]. Angles are made in
// float with the exactness of a 24-bit product, sine and cosine are precise.
// kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status rope(ComputeEncoder& encoder, const RopeParams& params);

}  // namespace mlxn
