#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

enum class HadamardSigns {
  kNone,
  kBefore,  // H (sigma x): rotates as the codec of tq_encode does
  kAfter,   // sigma (H x): the way back
};

struct HadamardParams {
  const Buffer& input;   // f32, f16 or bf16 [..., dim]; dim is a power of two up to 8192
  const Buffer& output;  // as the input; may be the input
  HadamardSigns signs = HadamardSigns::kNone;  // of signs.h, for a dim up to 512
};

// output = H input for every row: the Walsh-Hadamard matrix in the order of butterflies, scaled by
// 1 / sqrt(dim), which is its own inverse. Computed in float and rounded once. kDtypeMismatch,
// kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status hadamard(ComputeEncoder& encoder, const HadamardParams& params);

}  // namespace mlxn
