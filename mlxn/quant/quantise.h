// One block from its values. Inside this folder only.
#pragma once

#include <span>

#include "mlxn/base/result.h"
#include "mlxn/quant/blocks.h"

namespace mlxn::quant {

// `values` are finite and as many as the block has; `block` is zero before. kInvalidArgument when a
// scale does not fit into a half.
Status quantise_block(std::span<const float> values, BlockQ4_0& block);
Status quantise_block(std::span<const float> values, BlockQ4_1& block);
Status quantise_block(std::span<const float> values, BlockQ5_0& block);
Status quantise_block(std::span<const float> values, BlockQ5_1& block);
Status quantise_block(std::span<const float> values, BlockQ8_0& block);
Status quantise_block(std::span<const float> values, BlockQ2_K& block);
Status quantise_block(std::span<const float> values, BlockQ3_K& block);
Status quantise_block(std::span<const float> values, BlockQ4_K& block);
Status quantise_block(std::span<const float> values, BlockQ5_K& block);
Status quantise_block(std::span<const float> values, BlockQ6_K& block);
Status quantise_block(std::span<const float> values, BlockIq4_Nl& block);
Status quantise_block(std::span<const float> values, BlockIq4_Xs& block);
Status quantise_block(std::span<const float> values, BlockMxfp4& block);

// The bits of a scale or an offset.
Result<uint16_t> scale_bits(float value);

}  // namespace mlxn::quant
