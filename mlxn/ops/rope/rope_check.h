// What ops that turn heads check alike.
#pragma once

#include <cstdint>
#include <string_view>

#include "mlxn/core/memory/buffer.h"
#include "mlxn/ops/rope/rope.h"
#include "mlxn/ops/rope/rope_args.h"

namespace mlxn {

struct RopeSizes {
  uint32_t tokens, heads, dim, pairs;
};

// Of heads [tokens, heads, dim] of this dtype and the table that turns them. kDtypeMismatch,
// kShapeMismatch and kOutOfRange for wrong ones.
Result<RopeSizes> check_rope(std::string_view op, const Buffer& input, const Buffer& table,
                             Dtype dtype = Dtype::kF32);

struct RopeSlice {
  RopePairs pairs;
  uint32_t offset;
};
// kShapeMismatch and kInvalidArgument where the pairs do not lie in a head.
Result<RopePlaces> places_of(std::string_view op, const RopeSizes& sizes, const RopeSlice& slice);

}  // namespace mlxn
