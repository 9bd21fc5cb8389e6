// What the ops of this folder ask of a list of indices.
#pragma once

#include <cstdint>
#include <string_view>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

// u32 or i32, in any shape; how many there are.
Result<uint32_t> check_indices(std::string_view op, const Buffer& indices);

}  // namespace mlxn
