// Bits of small floating-point types and their values, shared by host and kernels.
#pragma once

#include "mlxn/quant/blocks.h"

#ifndef __METAL_VERSION__
#include <bit>
#endif

namespace mlxn {
namespace quant {

#ifdef __METAL_VERSION__
inline float float_of_bits(uint32_t bits) {
  return metal::as_type<float>(bits);
}
inline float half_value(uint16_t bits) {
  return metal::as_type<half>(bits);
}
#else
inline float float_of_bits(uint32_t bits) {
  return std::bit_cast<float>(bits);
}
// Exact for all 65,536 patterns; a NaN keeps its payload.
inline float half_value(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t magnitude = bits & 0x7FFFu;
  if (magnitude >= 0x7C00) return float_of_bits(sign | 0x7F800000u | (magnitude & 0x3FFu) << 13);
  // Put into a float's fields the exponent is 112 too small; the product mends that exactly, for
  // subnormal halves as well.
  const float scaled = float_of_bits(magnitude << 13) * 0x1p112f;
  return float_of_bits(sign | std::bit_cast<uint32_t>(scaled));
}
#endif

inline float bfloat_value(uint16_t bits) {
  return float_of_bits(static_cast<uint32_t>(bits) << 16);
}

// 2^(exponent - 128): the scale of a block of doubled 4-bit floats. The two smallest are subnormal.
inline float halved_power(uint8_t exponent) {
  return float_of_bits(exponent < 2 ? 0x00200000u << exponent
                                    : static_cast<uint32_t>(exponent - 1) << 23);
}

}  // namespace quant
}  // namespace mlxn
