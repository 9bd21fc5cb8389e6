#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct CastParams {
  const Buffer& input;
  const Buffer& output;  // of the input's element count; apart from the input
};

// output = input in another dtype: any two of f32, f16 and bf16, and f32 from and to i32 and u32.
// Floats are rounded to the nearest, ties to even, past the largest to infinity; a NaN stays one.
// To integers towards zero; what lies past the ends becomes the end, a NaN 0. kDtypeMismatch for
// other pairs, kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status cast(ComputeEncoder& encoder, const CastParams& params);

struct FillParams {
  const Buffer& output;  // f32, f16, bf16, i32 or u32
  double value;          // rounded to the dtype; whole and in range for integers
};

// output = value everywhere. kDtypeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status fill(ComputeEncoder& encoder, const FillParams& params);

}  // namespace mlxn
