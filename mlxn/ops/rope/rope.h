#pragma once

#include <array>
#include <cstdint>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

// Which elements of a head turn together, with r the number of rotary dimensions.
enum class RopePairs {
  kAdjacent,    // 2i and 2i + 1 ("normal")
  kHalves,      // i and i + r/2 ("neox")
  kHeadHalves,  // i and i + dim/2, of the whole head also where fewer turn
  kQuarters,    // i and i + dim/4 within either half: the first by axis 0, the second by axis 1
};

// Which of several positions of a token turns a pair, and by which frequency.
enum class RopeAxes {
  kOne,
  kSections,     // pairs in sections: of axis 0, 1, 2 and 3 ("mrope")
  kInterleaved,  // axes 0, 1 and 2 by turns as far as their sections reach, else 3 ("imrope")
  kVision,       // two sections, each with frequencies from the highest on
};

// YaRN: fast pairs turn as they were trained, slow ones by the stretched position, with a ramp
// between; the pairs' lengths grow a little.
struct RopeYarn {
  float ext_factor = 0;  // 0: off, all pairs by the stretched position; 1: in full
  float attn_factor = 1;
  float beta_fast = 32, beta_slow = 1;  // turns within the original context where the ramp begins
  uint32_t original_context = 0;        // needed where ext_factor is not 0
};

struct RopeTableParams {
  const Buffer&
      positions;         // u32 or i32 [tokens]; with sections [4, tokens], for vision [2, tokens]
  const Buffer& output;  // f32 [tokens, pairs, 2]
  float base = 10000;
  float scale = 1;                            // of positions; 0.25 stretches the context by 4
  const Buffer* frequency_factors = nullptr;  // f32 [pairs]: pair i turns slower by this factor
  uint32_t denominator = 0;                   // of the exponent -2i/denominator; 0: 2 * pairs
  RopeAxes axes = RopeAxes::kOne;
  std::array<uint32_t, 4> sections = {};  // pairs of each axis; they repeat behind their sum
  RopeYarn yarn = {};
};

// Cosine and sine of position * scale * base^(-2i/denominator) / factor[i] for pair i: what all
// heads of all layers turn by. Angles are made in float with the exactness of a 24-bit product,
// sine and cosine are precise. For kVision i counts from the begin of its section and the
// denominator is the number of pairs. kDtypeMismatch, kShapeMismatch, kOutOfRange and
// kInvalidArgument for wrong arguments.
Status rope_table(ComputeEncoder& encoder, const RopeTableParams& params);

struct RopeParams {
  const Buffer& input;   // [tokens, heads, dim], f32, f16 or bf16
  const Buffer& table;   // f32 [tokens, r/2, 2], of rope_table: r at most dim
  const Buffer& output;  // as the input; may be the input
  RopePairs pairs = RopePairs::kAdjacent;
  uint32_t offset = 0;   // of the rotary slice within a head; not for kHeadHalves and kQuarters
  bool inverse = false;  // turns back: also the gradient, where the table is that of the way there
};

// Turns pair i of every head by entry i of the token's row of the table; elements that do not turn
// are copied. Computed in float, rounded once. kDtypeMismatch, kShapeMismatch and kInvalidArgument
// for wrong arguments.
Status rope(ComputeEncoder& encoder, const RopeParams& params);

}  // namespace mlxn
