// Which block belongs to which dtype. Inside this folder only.
#pragma once

#include <cstdint>

#include "mlxn/base/dtype.h"
#include "mlxn/base/result.h"
#include "mlxn/quant/blocks.h"

namespace mlxn::quant {

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22 &&
              sizeof(BlockQ5_1) == 24 && sizeof(BlockQ8_0) == 34 && sizeof(BlockIq4_Nl) == 18 &&
              sizeof(BlockMxfp4) == 17 && sizeof(BlockQ2_K) == 84 && sizeof(BlockQ3_K) == 110 &&
              sizeof(BlockQ4_K) == 144 && sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210 &&
              sizeof(BlockIq4_Xs) == 136);

// Calls function(Block{}) for the block of a dtype; false when it has none.
template <class Function>
bool with_block(Dtype dtype, Function&& function) {
  switch (dtype) {
    case Dtype::kQ4_0: function(BlockQ4_0{}); return true;
    case Dtype::kQ4_1: function(BlockQ4_1{}); return true;
    case Dtype::kQ5_0: function(BlockQ5_0{}); return true;
    case Dtype::kQ5_1: function(BlockQ5_1{}); return true;
    case Dtype::kQ8_0: function(BlockQ8_0{}); return true;
    case Dtype::kQ2_K: function(BlockQ2_K{}); return true;
    case Dtype::kQ3_K: function(BlockQ3_K{}); return true;
    case Dtype::kQ4_K: function(BlockQ4_K{}); return true;
    case Dtype::kQ5_K: function(BlockQ5_K{}); return true;
    case Dtype::kQ6_K: function(BlockQ6_K{}); return true;
    case Dtype::kIq4_Nl: function(BlockIq4_Nl{}); return true;
    case Dtype::kIq4_Xs: function(BlockIq4_Xs{}); return true;
    case Dtype::kMxfp4: function(BlockMxfp4{}); return true;
    default: return false;
  }
}

// kShapeMismatch when `bytes` is not the size of `elements` values.
Status check_sizes(Dtype dtype, uint64_t elements, uint64_t bytes);

}  // namespace mlxn::quant
