#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct AttentionBlocksParams {
  const Buffer& mask;    // f32, f16, bf16 or bool [queries, keys]
  const Buffer& blocks;  // u8 [queries / 32, keys / 32], both rounded up
};

// blocks = 0 where a block of 32 x 32 cells of a mask holds nothing but -infinity (or false), 2
// where nothing but 0 (or true), else 1: sdpa passes over the first and adds no mask in the second.
// kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status attention_blocks(ComputeEncoder& encoder, const AttentionBlocksParams& params);

}  // namespace mlxn
