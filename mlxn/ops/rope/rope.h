#pragma once

#include <cstdint>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

// Which elements of a head turn together, with r the number of rotary dimensions.
enum class RopePairs {
  kAdjacent,  // 2i and 2i + 1 ("normal")
  kHalves,    // i and i + r/2 ("neox")
};

struct RopeTableParams {
  const Buffer& positions;  // u32 [tokens]
  const Buffer& output;     // f32 [tokens, r/2, 2]
  float base = 10000;
  float scale = 1;                            // of positions; 0.25 stretches the context by 4
  const Buffer* frequency_factors = nullptr;  // f32 [r/2]: pair i turns slower by this factor
};

// Cosine and sine of position * scale * base^(-2i/r) / factor[i] for pair i: what all heads of all
// layers turn by. Angles are made in float with the exactness of a 24-bit product, sine and cosine
// are precise. kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for wrong
// arguments.
Status rope_table(ComputeEncoder& encoder, const RopeTableParams& params);

struct RopeParams {
  const Buffer& input;   // f32 [tokens, heads, dim]
  const Buffer& table;   // f32 [tokens, r/2, 2], of rope_table: r at most dim
  const Buffer& output;  // as the input; may be the input
  RopePairs pairs = RopePairs::kAdjacent;
};

// Turns pair i of every head by entry i of the token's row of the table; elements from r on are
// copied. kDtypeMismatch, kShapeMismatch and kInvalidArgument for wrong arguments.
Status rope(ComputeEncoder& encoder, const RopeParams& params);

}  // namespace mlxn
