#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/ops/matmul/rounded_rows.h"

namespace mlxn {

// The shape of so many rows after rounding, as i32: [tiles, blocks, kRoundedWords, rows of a tile].
// kShapeMismatch when `depth` is no multiple of 32, kOutOfRange when a size overflows.
Result<Shape> rounded_shape(uint64_t rows, uint64_t depth);

struct QuantiseRowsParams {
  const Buffer& input;   // f32 [..., k]
  const Buffer& output;  // i32 rounded_shape(rows, k)
};

// output = the input rounded to 8 bits, each 32 elements with a scale of their own: value ~ scale *
// code, |code| <= 127. A row has the same codes alone and among others. kDtypeMismatch,
// kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status quantise_rows(ComputeEncoder& encoder, const QuantiseRowsParams& params);

}  // namespace mlxn
