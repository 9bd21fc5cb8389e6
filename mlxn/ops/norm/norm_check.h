// What norms check alike.
#pragma once

#include <cstdint>
#include <string_view>

#include "mlxn/core/memory/buffer.h"

namespace mlxn {

// Weights of f16 are f32, others of the data's dtype.
Dtype weight_dtype_of(Dtype data);

// kOutOfRange for a row that is longer than a float can count: 2^24.
Status check_norm_dim(std::string_view op, uint64_t dim);

}  // namespace mlxn
