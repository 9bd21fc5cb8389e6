// Stores codes where dequantise.h reads them: the layouts in the other direction. Fields must be
// zero before. Inside this folder only.
#pragma once

#include <cstdint>

#include "mlxn/quant/blocks.h"

namespace mlxn::quant {

inline void or_into(uint8_t& byte, int value, int shift) {
  byte = static_cast<uint8_t>(byte | (value << shift));
}
// Element 16 * piece + j of 32.
inline void put_nibble(uint8_t (&codes)[16], int piece, int j, int value) {
  or_into(codes[j], value, 4 * piece);
}
inline void put_fifth_bit(uint8_t (&high)[4], int piece, int j, int value) {
  or_into(high[2 * piece + (j >> 3)], value, j & 7);
}
// Element 16 * piece + j of 256.
inline void put_two_bits(uint8_t (&bytes)[64], int piece, int j, int value) {
  or_into(bytes[32 * (piece >> 3) + 16 * (piece & 1) + j], value, 2 * ((piece >> 1) & 3));
}
inline void put_one_bit(uint8_t (&bytes)[32], int piece, int j, int value) {
  or_into(bytes[16 * (piece & 1) + j], value, piece >> 1);
}
inline void put_four_bits(uint8_t (&bytes)[128], int piece, int j, int value) {
  or_into(bytes[32 * (piece >> 2) + 16 * (piece & 1) + j], value, 4 * ((piece >> 1) & 1));
}
// Scale (0 to 63) and offset (0 to 63) of a group of 32 elements.
inline void put_group_scales(uint8_t (&scales)[12], int group, int scale, int offset) {
  const int i = group & 3;
  if (group < 4) {
    or_into(scales[i], scale, 0);
    or_into(scales[4 + i], offset, 0);
    return;
  }
  or_into(scales[8 + i], scale & 0xF, 0);
  or_into(scales[8 + i], offset & 0xF, 4);
  or_into(scales[i], scale >> 4, 6);
  or_into(scales[4 + i], offset >> 4, 6);
}

}  // namespace mlxn::quant
