// What ops that turn heads check alike.
#pragma once

#include <cstdint>
#include <string_view>

#include "mlxn/core/memory/buffer.h"

namespace mlxn {

struct RopeSizes {
  uint32_t tokens, heads, dim, pairs;
};

// Of heads [tokens, heads, dim] and the table that turns them. kDtypeMismatch, kShapeMismatch and
// kOutOfRange for wrong ones.
Result<RopeSizes> check_rope(std::string_view op, const Buffer& input, const Buffer& table);

}  // namespace mlxn
