// Block formats on the host: f32 values to stored bytes and back, one value at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mlxn/base/dtype.h"
#include "mlxn/base/result.h"

namespace mlxn::quant {

// Formats both functions know: f32, f16, bf16 and the block formats of blocks.h.
bool is_supported(Dtype dtype);

// values = the stored numbers. `bytes` must hold exactly values.size() elements: kShapeMismatch
// when it does not, kUnsupported for other dtypes. Any address of `bytes` will do.
Status dequantise(Dtype dtype, std::span<const std::byte> bytes, std::span<float> values);

// The other way round, with the same checks. f16, bf16: rounded to nearest, ties to even. q4_0 to
// q8_0 and mxfp4 take the scale from the largest value. Formats of 256 elements and iq4_nl search
// for scales with a small squared error. Values that are not finite are refused for block formats
// (kInvalidArgument), as are values whose scale does not fit into a half.
Status quantise(Dtype dtype, std::span<const float> values, std::span<std::byte> bytes);

// Rounded to nearest, ties to even; too large gives infinity, a NaN stays one.
uint16_t half_bits(float value);
uint16_t bfloat_bits(float value);

}  // namespace mlxn::quant
