// Formats of 256 elements: each piece or group has a scale of its own, stored in a few bits as a
// multiple of the block's scale. Codes are chosen last, for the scales as they are stored.
#include <array>
#include <cmath>

#include "mlxn/quant/dequantise.h"
#include "mlxn/quant/fit.h"
#include "mlxn/quant/pack.h"
#include "mlxn/quant/quantise.h"

namespace mlxn::quant {
namespace {

// Calls put(piece, j, code), code = the nearest in [low, high] for the block's stored scales.
template <class Block, class Put>
void choose_codes(std::span<const float> values, const Block& block, int low, int high, Put&& put) {
  for (int piece = 0; piece < Block::kPieces; ++piece) {
    const Affine at = affine(block, piece);
    const float to_code = inverse(at.scale);
    for (int j = 0; j < 16; ++j)
      put(piece, j, rounded((values[16 * piece + j] - at.offset) * to_code, low, high));
  }
}

// A scale for the scales of parts, signed, with codes from `low` to -low - 1.
template <size_t kParts>
float scale_of_scales(const std::array<float, kParts>& scales, int low) {
  return largest(scales) / static_cast<float>(low);
}

// Scales and offsets of parts, as multiples up to `high` of one scale and one offset.
template <size_t kParts>
struct Parts {
  uint16_t scale = 0, offset = 0;
  std::array<int, kParts> scales, offsets;
};
template <size_t kParts>
Result<Parts<kParts>> fit_parts(std::span<const float> values, int high_code, int high) {
  const size_t size = values.size() / kParts;
  std::array<float, kParts> scales, offsets;
  for (size_t p = 0; p < kParts; ++p) {
    const Affine fit = fit_affine(values.subspan(p * size, size), high_code);
    scales[p] = fit.scale;
    offsets[p] = -fit.offset;
  }
  Parts<kParts> out;
  MLXN_ASSIGN(out.scale, scale_bits(largest(scales) / static_cast<float>(high)));
  MLXN_ASSIGN(out.offset, scale_bits(largest(offsets) / static_cast<float>(high)));
  const float to_scale = inverse(half_value(out.scale));
  const float to_offset = inverse(half_value(out.offset));
  for (size_t p = 0; p < kParts; ++p) {
    out.scales[p] = rounded(scales[p] * to_scale, 0, high);
    out.offsets[p] = rounded(offsets[p] * to_offset, 0, high);
  }
  return out;
}

// What BlockQ4_K and BlockQ5_K share.
template <class Block>
Status put_groups(std::span<const float> values, int high_code, Block& block) {
  MLXN_ASSIGN(const auto groups, fit_parts<8>(values, high_code, 63));
  block.scale = groups.scale;
  block.offset = groups.offset;
  for (int g = 0; g < 8; ++g)
    put_group_scales(block.scales, g, groups.scales[g], groups.offsets[g]);
  return {};
}

}  // namespace

Status quantise_block(std::span<const float> values, BlockQ2_K& block) {
  MLXN_ASSIGN(const auto pieces, fit_parts<16>(values, 3, 15));
  block.scale = pieces.scale;
  block.offset = pieces.offset;
  for (int p = 0; p < 16; ++p)
    block.scales[p] = static_cast<uint8_t>(pieces.scales[p] | pieces.offsets[p] << 4);
  choose_codes(values, block, 0, 3,
               [&](int piece, int j, int code) { put_two_bits(block.codes, piece, j, code); });
  return {};
}

Status quantise_block(std::span<const float> values, BlockQ3_K& block) {
  std::array<float, 16> scales;
  for (int p = 0; p < 16; ++p) scales[p] = fit_scale(values.subspan(16 * p, 16), -4, 3);
  MLXN_ASSIGN(block.scale, scale_bits(scale_of_scales(scales, -32)));
  const float to_scale = inverse(half_value(block.scale));
  for (int p = 0; p < 16; ++p) {
    const int scale = rounded(scales[p] * to_scale, -32, 31) + 32;
    or_into(block.scales[p & 7], scale & 0xF, 4 * (p >> 3));
    or_into(block.scales[8 + (p & 3)], scale >> 4, 2 * (p >> 2));
  }
  choose_codes(values, block, -4, 3, [&](int piece, int j, int code) {
    put_two_bits(block.codes, piece, j, (code + 4) & 3);
    put_one_bit(block.high, piece, j, (code + 4) >> 2);
  });
  return {};
}

Status quantise_block(std::span<const float> values, BlockQ4_K& block) {
  MLXN_TRY(put_groups(values, 15, block));
  choose_codes(values, block, 0, 15,
               [&](int piece, int j, int code) { put_four_bits(block.codes, piece, j, code); });
  return {};
}

Status quantise_block(std::span<const float> values, BlockQ5_K& block) {
  MLXN_TRY(put_groups(values, 31, block));
  choose_codes(values, block, 0, 31, [&](int piece, int j, int code) {
    put_four_bits(block.codes, piece, j, code & 0xF);
    put_one_bit(block.high, piece, j, code >> 4);
  });
  return {};
}

Status quantise_block(std::span<const float> values, BlockQ6_K& block) {
  std::array<float, 16> scales;
  for (int p = 0; p < 16; ++p) scales[p] = fit_scale(values.subspan(16 * p, 16), -32, 31);
  MLXN_ASSIGN(block.scale, scale_bits(scale_of_scales(scales, -128)));
  const float to_scale = inverse(half_value(block.scale));
  for (int p = 0; p < 16; ++p)
    block.scales[p] = static_cast<int8_t>(rounded(scales[p] * to_scale, -128, 127));
  choose_codes(values, block, -32, 31, [&](int piece, int j, int code) {
    const int at = 64 * (piece >> 3) + 16 * (piece & 3) + j;
    or_into(block.codes[at], (code + 32) & 0xF, 4 * ((piece >> 2) & 1));
    put_two_bits(block.high, piece, j, (code + 32) >> 4);
  });
  return {};
}

Status quantise_block(std::span<const float> values, BlockIq4_Xs& block) {
  std::array<float, 8> scales;
  for (int g = 0; g < 8; ++g) scales[g] = fit_table_scale(values.subspan(32 * g, 32), kIq4Values);
  MLXN_ASSIGN(block.scale, scale_bits(scale_of_scales(scales, -32)));
  const float to_scale = inverse(half_value(block.scale));
  for (int g = 0; g < 8; ++g) {
    const int scale = rounded(scales[g] * to_scale, -32, 31) + 32;
    or_into(block.scales_low[g >> 1], scale & 0xF, 4 * (g & 1));
    block.scales_high = static_cast<uint16_t>(block.scales_high | (scale >> 4) << (2 * g));
  }
  for (int piece = 0; piece < 16; ++piece) {
    const float to_table = inverse(affine(block, piece).scale);
    for (int j = 0; j < 16; ++j) {
      const int code = nearest_in(kIq4Values, values[16 * piece + j] * to_table);
      or_into(block.codes[16 * (piece >> 1) + j], code, 4 * (piece & 1));
    }
  }
  return {};
}

}  // namespace mlxn::quant
