// One block from its values. Inside this folder only.
#pragma once

#include <span>

#include "mlxn/base/result.h"
#include "mlxn/base/weight_formats.h"
#include "mlxn/quant/blocks.h"

namespace mlxn::quant {

// `values` are finite and as many as the block has; `block` is zero before. kInvalidArgument when a
// scale does not fit into a half.
#define MLXN_DECLARE(name, type, dtype, elements, bytes) \
  Status quantise_block(std::span<const float> values, type& block);
MLXN_EACH_BLOCK_FORMAT(MLXN_DECLARE)
#undef MLXN_DECLARE

// The bits of a scale or an offset.
Result<uint16_t> scale_bits(float value);

}  // namespace mlxn::quant
