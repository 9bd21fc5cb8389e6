// Which block belongs to which dtype. Inside this folder only.
#pragma once

#include <cstdint>

#include "mlxn/base/dtype.h"
#include "mlxn/base/result.h"
#include "mlxn/quant/blocks.h"

namespace mlxn::quant {

#define MLXN_CHECK(name, type, dtype, elements, bytes) \
  static_assert(sizeof(type) == (bytes) && type::kElements == (elements));
MLXN_EACH_BLOCK_FORMAT(MLXN_CHECK)
#undef MLXN_CHECK

// Calls function(Block{}) for the block of a dtype; false when it has none.
template <class Function>
bool with_block(Dtype dtype, Function&& function) {
  switch (dtype) {
#define MLXN_CASE(name, type, dtype, elements, bytes) \
  case Dtype::k##dtype: function(type{}); return true;
    MLXN_EACH_BLOCK_FORMAT(MLXN_CASE)
#undef MLXN_CASE
    default: return false;
  }
}

// kShapeMismatch when `bytes` is not the size of `elements` values.
Status check_sizes(Dtype dtype, uint64_t elements, uint64_t bytes);

}  // namespace mlxn::quant
