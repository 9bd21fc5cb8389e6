// Types of floats as numbers, for kernels that take any: see float_access.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "mlxn/base/dtype.h"
#include "mlxn/base/result.h"

namespace mlxn {

// 0 for f32, 1 for f16, 2 for bf16. kDtypeMismatch for another dtype.
Result<uint32_t> float_type(std::string_view op, std::string_view name, Dtype dtype);

}  // namespace mlxn
