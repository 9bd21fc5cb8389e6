#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

enum class OutOfRange { kZeros, kLastRow };

struct GatherParams {
  const Buffer& source;   // [rows, dim]
  const Buffer& indices;  // u32 or i32 [n]; a negative one lies past the end
  const Buffer& output;   // [n, dim] of the source's dtype, or f32 from any weight format
  OutOfRange out_of_range = OutOfRange::kZeros;
};

// output[i] = source[indices[i]]: bit for bit within a dtype of 1, 2 or 4 bytes, or as f32. The
// indices are read when the dispatch runs; one past the source gives zeros or its last row, as
// asked, and touches nothing else. kDtypeMismatch, kShapeMismatch, kOutOfRange, kInvalidArgument
// for wrong arguments.
Status gather(ComputeEncoder& encoder, const GatherParams& params);

struct SetRowsParams {
  const Buffer& input;    // [n, dim] f32, or of the output's dtype
  const Buffer& indices;  // u32 or i32 [n]; a negative one lies past the end
  const Buffer& output;   // [rows, dim] f32, f16, bf16 or q8_0
};

// output[indices[i]] = input[i]; other rows stay. Where an index is there more than once its last
// row wins; rows for an index past the output are left out. Floats are rounded once; q8_0 by blocks
// of 32 as the largest magnitude / 127, rounded to f16, times whole codes. Errors as of gather.
Status set_rows(ComputeEncoder& encoder, const SetRowsParams& params);

}  // namespace mlxn
