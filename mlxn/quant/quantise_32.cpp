// Formats of 32 elements.
#include <algorithm>
#include <cmath>

#include "mlxn/quant/fit.h"
#include "mlxn/quant/half.h"
#include "mlxn/quant/pack.h"
#include "mlxn/quant/quantise.h"

namespace mlxn::quant {
namespace {

// Codes are cut to whole numbers after half a code is added; `high` is the largest.
int truncated(float x, int high) {
  return std::clamp(static_cast<int>(x), 0, high);
}

// Calls put(piece, j, value) for all 32 values.
template <class Put>
void each(std::span<const float> values, Put&& put) {
  for (int i = 0; i < 32; ++i) put(i >> 4, i & 15, values[i]);
}

// Scale and offset that spread [least, most] over codes up to `high`.
struct Range {
  float scale, to_code, offset;
};
Range range_of(std::span<const float> values, int high) {
  const auto [least, most] = std::ranges::minmax(values);
  const float scale = (most - least) / static_cast<float>(high);
  return {scale, inverse(scale), least};
}

}  // namespace

Status quantise_block(std::span<const float> values, BlockQ4_0& block) {
  const float scale = largest(values) / -8;
  const float to_code = inverse(scale);
  MLXN_ASSIGN(block.scale, scale_bits(scale));
  each(values, [&](int piece, int j, float x) {
    put_nibble(block.codes, piece, j, truncated(x * to_code + 8.5f, 15));
  });
  return {};
}

Status quantise_block(std::span<const float> values, BlockQ4_1& block) {
  const Range range = range_of(values, 15);
  MLXN_ASSIGN(block.scale, scale_bits(range.scale));
  MLXN_ASSIGN(block.offset, scale_bits(range.offset));
  each(values, [&](int piece, int j, float x) {
    put_nibble(block.codes, piece, j, truncated((x - range.offset) * range.to_code + 0.5f, 15));
  });
  return {};
}

Status quantise_block(std::span<const float> values, BlockQ5_0& block) {
  const float scale = largest(values) / -16;
  const float to_code = inverse(scale);
  MLXN_ASSIGN(block.scale, scale_bits(scale));
  each(values, [&](int piece, int j, float x) {
    const int code = truncated(x * to_code + 16.5f, 31);
    put_nibble(block.codes, piece, j, code & 0xF);
    put_fifth_bit(block.high, piece, j, code >> 4);
  });
  return {};
}

Status quantise_block(std::span<const float> values, BlockQ5_1& block) {
  const Range range = range_of(values, 31);
  MLXN_ASSIGN(block.scale, scale_bits(range.scale));
  MLXN_ASSIGN(block.offset, scale_bits(range.offset));
  each(values, [&](int piece, int j, float x) {
    const int code = truncated((x - range.offset) * range.to_code + 0.5f, 31);
    put_nibble(block.codes, piece, j, code & 0xF);
    put_fifth_bit(block.high, piece, j, code >> 4);
  });
  return {};
}

Status quantise_block(std::span<const float> values, BlockQ8_0& block) {
  const float scale = std::abs(largest(values)) / 127;
  const float to_code = inverse(scale);
  MLXN_ASSIGN(block.scale, scale_bits(scale));
  for (int i = 0; i < 32; ++i)
    block.codes[i] = static_cast<int8_t>(rounded(values[i] * to_code, -127, 127));
  return {};
}

Status quantise_block(std::span<const float> values, BlockIq4_Nl& block) {
  const float scale = fit_table_scale(values, kIq4Values);
  MLXN_ASSIGN(block.scale, scale_bits(scale));
  const float to_table = inverse(half_value(block.scale));
  each(values, [&](int piece, int j, float x) {
    put_nibble(block.codes, piece, j, nearest_in(kIq4Values, x * to_table));
  });
  return {};
}

Status quantise_block(std::span<const float> values, BlockMxfp4& block) {
  const float most = std::abs(largest(values));
  if (most == 0) return {};
  // The largest value of the 4-bit float is 6 = 1.5 * 2^2.
  const int exponent = static_cast<int>(std::floor(std::log2(most))) - 2 + 127;
  block.exponent = static_cast<uint8_t>(std::clamp(exponent, 0, 254));
  const float scale = halved_power(block.exponent);
  each(values, [&](int piece, int j, float x) {
    int best = 0;
    for (int code = 1; code < 16; ++code) {
      if (std::abs(scale * kMxfp4Values[code] - x) < std::abs(scale * kMxfp4Values[best] - x))
        best = code;
    }
    put_nibble(block.codes, piece, j, best);
  });
  return {};
}

}  // namespace mlxn::quant
