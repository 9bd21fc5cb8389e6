#pragma once

#include <optional>

#include "mlxn/core/encode/encoder.h"
#include "mlxn/ops/common/quantise_rows_args.h"
#include "mlxn/ops/common/rounded_rows.h"

namespace mlxn {

// The shape of so many rows after rounding, as i32: [tiles, blocks, rows of a tile, kRoundedWords].
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

// What ops that end with rounding share: the checks, whose messages begin with `op`, and the grid:
// a simdgroup for each run of blocks.
Result<QuantiseRowsArgs> check_rounding(std::string_view op, const Buffer& input,
                                        const Buffer& output);
Status dispatch_rounding(ComputeEncoder& encoder, const QuantiseRowsArgs& args, Dispatch dispatch);
// For fusion rules: the output of a recorded one whose input is all of `input`, [rows, k].
std::optional<Buffer> recorded_rounding(const CapturedNode& node, const Buffer& input);

}  // namespace mlxn
