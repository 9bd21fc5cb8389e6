// Values of block formats, shared by host and kernels:
//   value = affine(block, piece).scale * code(block, piece, j) + affine(block, piece).offset
// for element 16 * piece + j. A sum over values thus needs the codes only:
//   sum(x * value) = scale * sum(x * code) + offset * sum(x).
// Formats without an offset have -0, which changes no bit of a sum.
#pragma once

#include "mlxn/quant/blocks.h"
#include "mlxn/quant/half.h"

namespace mlxn {
namespace quant {

struct Affine {
  float scale;
  float offset;
};

// The half of byte j (16 bytes, two pieces) that belongs to a piece.
inline int nibble(uint8_t byte, int piece) {
  return (byte >> (4 * (piece & 1))) & 0xF;
}

inline Affine affine(const MLXN_DEVICE BlockQ4_0& block, int piece) {
  return {half_value(block.scale), -0.0f};
}
inline int code(const MLXN_DEVICE BlockQ4_0& block, int piece, int j) {
  return nibble(block.codes[j], piece) - 8;
}

inline Affine affine(const MLXN_DEVICE BlockQ4_1& block, int piece) {
  return {half_value(block.scale), half_value(block.offset)};
}
inline int code(const MLXN_DEVICE BlockQ4_1& block, int piece, int j) {
  return nibble(block.codes[j], piece);
}

// The fifth bit of element 16 * piece + j, in its place.
inline int fifth_bit(const MLXN_DEVICE uint8_t (&high)[4], int piece, int j) {
  return ((high[2 * piece + (j >> 3)] >> (j & 7)) & 1) << 4;
}

inline Affine affine(const MLXN_DEVICE BlockQ5_0& block, int piece) {
  return {half_value(block.scale), -0.0f};
}
inline int code(const MLXN_DEVICE BlockQ5_0& block, int piece, int j) {
  return (nibble(block.codes[j], piece) | fifth_bit(block.high, piece, j)) - 16;
}

inline Affine affine(const MLXN_DEVICE BlockQ5_1& block, int piece) {
  return {half_value(block.scale), half_value(block.offset)};
}
inline int code(const MLXN_DEVICE BlockQ5_1& block, int piece, int j) {
  return nibble(block.codes[j], piece) | fifth_bit(block.high, piece, j);
}

inline Affine affine(const MLXN_DEVICE BlockQ8_0& block, int piece) {
  return {half_value(block.scale), -0.0f};
}
inline int code(const MLXN_DEVICE BlockQ8_0& block, int piece, int j) {
  return block.codes[16 * piece + j];
}

inline Affine affine(const MLXN_DEVICE BlockIq4_Nl& block, int piece) {
  return {half_value(block.scale), -0.0f};
}
inline int code(const MLXN_DEVICE BlockIq4_Nl& block, int piece, int j) {
  return kIq4Values[nibble(block.codes[j], piece)];
}

inline Affine affine(const MLXN_DEVICE BlockMxfp4& block, int piece) {
  return {halved_power(block.exponent), -0.0f};
}
inline int code(const MLXN_DEVICE BlockMxfp4& block, int piece, int j) {
  return kMxfp4Values[nibble(block.codes[j], piece)];
}

// Blocks of 256. A group is 32 elements, two pieces; a half is 128 elements, four groups.

inline int two_bits(const MLXN_DEVICE uint8_t (&bytes)[64], int piece, int j) {
  const int half_start = 32 * (piece >> 3);
  return (bytes[half_start + 16 * (piece & 1) + j] >> (2 * ((piece >> 1) & 3))) & 3;
}
inline int one_bit(const MLXN_DEVICE uint8_t (&bytes)[32], int piece, int j) {
  return (bytes[16 * (piece & 1) + j] >> (piece >> 1)) & 1;
}
inline int four_bits(const MLXN_DEVICE uint8_t (&bytes)[128], int piece, int j) {
  return nibble(bytes[32 * (piece >> 2) + 16 * (piece & 1) + j], piece >> 1);
}

inline Affine affine(const MLXN_DEVICE BlockQ2_K& block, int piece) {
  const uint8_t packed = block.scales[piece];
  return {half_value(block.scale) * (packed & 0xF), -(half_value(block.offset) * (packed >> 4))};
}
inline int code(const MLXN_DEVICE BlockQ2_K& block, int piece, int j) {
  return two_bits(block.codes, piece, j);
}

inline Affine affine(const MLXN_DEVICE BlockQ3_K& block, int piece) {
  // 16 scales of 6 bits: the low 4 in bytes 0 to 7, low halves first; the high 2 in bytes 8 to 11.
  const int low = nibble(block.scales[piece & 7], piece >> 3);
  const int high = (block.scales[8 + (piece & 3)] >> (2 * (piece >> 2))) & 3;
  return {half_value(block.scale) * ((low | (high << 4)) - 32), -0.0f};
}
inline int code(const MLXN_DEVICE BlockQ3_K& block, int piece, int j) {
  return two_bits(block.codes, piece, j) - (one_bit(block.high, piece, j) ? 0 : 4);
}

// Scale and offset of a group in units of the block's own: 8 of each with 6 bits. Groups 0 to 3 lie
// in the low 6 bits of bytes 0 to 7 (scales, then offsets), groups 4 to 7 in bytes 8 to 11 (4 bits
// of scale, 4 bits of offset) and in the 2 bits left over.
inline Affine group_affine(const MLXN_DEVICE uint8_t (&scales)[12], float scale, float offset,
                           int group) {
  const int i = group & 3;
  const bool upper = group >= 4;
  const int s = upper ? (scales[8 + i] & 0xF) | ((scales[i] >> 6) << 4) : scales[i] & 63;
  const int o = upper ? (scales[8 + i] >> 4) | ((scales[4 + i] >> 6) << 4) : scales[4 + i] & 63;
  return {scale * s, -(offset * o)};
}

inline Affine affine(const MLXN_DEVICE BlockQ4_K& block, int piece) {
  return group_affine(block.scales, half_value(block.scale), half_value(block.offset), piece >> 1);
}
inline int code(const MLXN_DEVICE BlockQ4_K& block, int piece, int j) {
  return four_bits(block.codes, piece, j);
}

inline Affine affine(const MLXN_DEVICE BlockQ5_K& block, int piece) {
  return group_affine(block.scales, half_value(block.scale), half_value(block.offset), piece >> 1);
}
inline int code(const MLXN_DEVICE BlockQ5_K& block, int piece, int j) {
  return four_bits(block.codes, piece, j) | (one_bit(block.high, piece, j) << 4);
}

inline Affine affine(const MLXN_DEVICE BlockQ6_K& block, int piece) {
  return {half_value(block.scale) * block.scales[piece], -0.0f};
}
inline int code(const MLXN_DEVICE BlockQ6_K& block, int piece, int j) {
  const int low = nibble(block.codes[64 * (piece >> 3) + 16 * (piece & 3) + j], piece >> 2);
  return (low | (two_bits(block.high, piece, j) << 4)) - 32;
}

inline Affine affine(const MLXN_DEVICE BlockIq4_Xs& block, int piece) {
  const int group = piece >> 1;
  const int low = nibble(block.scales_low[group >> 1], group);
  const int high = (block.scales_high >> (2 * group)) & 3;
  return {half_value(block.scale) * ((low | (high << 4)) - 32), -0.0f};
}
inline int code(const MLXN_DEVICE BlockIq4_Xs& block, int piece, int j) {
  return kIq4Values[nibble(block.codes[16 * (piece >> 1) + j], piece)];
}

// 16 values in a row: elements 16 * piece and following.
template <class Block>
inline void dequantise_piece(const MLXN_DEVICE Block& block, int piece,
                             MLXN_THREAD float (&values)[16]) {
  const Affine at = affine(block, piece);
  for (int j = 0; j < 16; ++j) values[j] = at.scale * code(block, piece, j) + at.offset;
}

// One value.
template <class Block>
inline float dequantised(const MLXN_DEVICE Block& block, int index) {
  const Affine at = affine(block, index >> 4);
  return at.scale * code(block, index >> 4, index & 15) + at.offset;
}

}  // namespace quant
}  // namespace mlxn
