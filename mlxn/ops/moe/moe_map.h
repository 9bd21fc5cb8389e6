#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

// What stands in the rest of MoeMapParams::rows where there are ids past the experts.
inline constexpr uint32_t kNoMoeRow = 0xffffffff;

struct MoeMapParams {
  const Buffer& ids;      // u32, a row's expert: [tokens, slots], row = token * slots + slot
  const Buffer& offsets;  // u32 [experts + 1]
  const Buffer& rows;     // u32, as many as ids
};

// The rows of each expert, for products expert by expert: those of expert e are rows[offsets[e]] to
// rows[offsets[e + 1] - 1], rising; offsets[e + 1] - offsets[e] is how many there are, which may be
// 0 or all. A token that names an expert twice has two rows there. Rows of ids past the experts are
// in no list: the end of `rows` is filled up with kNoMoeRow for them. kDtypeMismatch,
// kShapeMismatch, kOutOfRange, kInvalidArgument for wrong arguments.
Status moe_map(ComputeEncoder& encoder, const MoeMapParams& params);

}  // namespace mlxn
