#include "mlxn/testing/packed_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "mlxn/ops/common/rounded_rows.h"
#include "mlxn/quant/pack_rows.h"
#include "mlxn/quant/reference.h"
#include "mlxn/testing/stored_values.h"

namespace mlxn::cases {
namespace {

// Where the words of rows lie.
struct Tiles {
  uint64_t rows, blocks, tile, count;

  Tiles(uint64_t rows, uint64_t depth)
      : rows(rows),
        blocks(depth / kRoundedBlock),
        tile(rounded_tile(static_cast<uint32_t>(rows))),
        count((rows + tile - 1) / tile) {}
  uint64_t words() const { return count * blocks * kRoundedWords * tile; }
  uint64_t word(uint64_t row, uint64_t block, uint64_t line) const {
    return ((row / tile * blocks + block) * tile + row % tile) * kRoundedWords + line;
  }
};

int32_t bits_of(float value) {
  return std::bit_cast<int32_t>(value);
}

// One block of a row: its kRoundedWords words. Each step is rounded to float once, as in the
// kernel.
std::vector<int32_t> round_block(std::span<const double> values) {
  std::vector<int32_t> words(kRoundedWords);
  double largest = 0;
  for (double value : values) largest = std::max(largest, std::abs(value));
  const auto scale = static_cast<float>(largest / 127);
  const auto inverse = largest < 0x1p-120 ? 0.0f : static_cast<float>(127 / largest);
  int32_t sum = 0;
  for (size_t i = 0; i < kRoundedBlock; ++i) {
    const auto scaled = static_cast<float>(values[i] * static_cast<double>(inverse));
    const auto code = static_cast<int32_t>(std::nearbyint(scaled));
    sum += code;
    words[i / 4] |= static_cast<int32_t>((static_cast<uint32_t>(code) & 0xff) << (8 * (i % 4)));
    if (i + 1 == kRoundedBlock / 2) words[kLowerStartWord] = -128 * sum;
  }
  words[kScaleWord] = bits_of(scale);
  words[kSumWord] = bits_of(scale * static_cast<float>(sum));
  words[kStartWord] = -128 * sum;
  return words;
}

Result<quant::PackedLayout> layout_of(Dtype format, uint64_t rows, uint64_t depth) {
  return quant::packed_layout(format, rows, depth);
}

}  // namespace

Tensor packed_weights(Dtype format, uint64_t rows, uint64_t depth, Fill fill) {
  const auto layout = layout_of(format, rows, depth);
  if (!layout) return {};
  const uint64_t words = layout->packed_bytes() / 4;
  const auto fill_packed = [=](Random& random, std::span<double> out) {
    std::vector<double> values(rows * depth);
    fill(random, values);
    std::vector<std::byte> stored(layout->stored_bytes()), packed(layout->packed_bytes());
    if (!store(format, values, stored)) return;
    for (uint64_t group = 0; group < layout->groups; ++group)
      if (!quant::pack_group(*layout, stored, group, packed)) return;
    for (size_t i = 0; i < out.size(); ++i) {
      uint32_t word;
      std::memcpy(&word, packed.data() + 4 * i, 4);
      out[i] = word;
    }
  };
  return {Dtype::kU32, {words}, Role::kIn, fill_packed};
}

std::vector<double> unpacked(Dtype format, uint64_t rows, uint64_t depth,
                             std::span<const double> words) {
  const auto layout = layout_of(format, rows, depth);
  if (!layout) return {};
  const std::vector<uint32_t> packed(words.begin(), words.end());
  std::vector<float> values(rows * depth);
  if (!quant::unpack_rows(*layout, std::as_bytes(std::span(packed)), values)) return {};
  return {values.begin(), values.end()};
}

PackedWeights packed_argument(const Buffer& words, Dtype format, uint64_t rows, uint64_t depth) {
  return {words, format, rows, depth};
}

std::vector<double> rounded_words(std::span<const double> values, uint64_t rows, uint64_t depth) {
  const Tiles at(rows, depth);
  std::vector<double> out(at.words());
  for (uint64_t row = 0; row < at.count * at.tile; ++row) {
    for (uint64_t block = 0; block < at.blocks; ++block) {
      const uint64_t from = std::min(row, rows - 1) * depth + block * kRoundedBlock;
      const auto words = round_block(values.subspan(from, kRoundedBlock));
      for (uint64_t line = 0; line < kRoundedWords; ++line)
        out[at.word(row, block, line)] = words[line];
    }
  }
  return out;
}

Tensor rounded_rows(uint64_t rows, uint64_t depth, Fill fill) {
  const Tiles at(rows, depth);
  const auto fill_rounded = [=](Random& random, std::span<double> out) {
    std::vector<double> values(rows * depth);
    fill(random, values);
    for (double& value : values) value = rounded(Dtype::kF32, value);
    std::ranges::copy(rounded_words(values, rows, depth), out.begin());
  };
  return {Dtype::kI32, {at.count, at.blocks, at.tile, kRoundedWords}, Role::kIn, fill_rounded};
}

std::vector<double> rounded_values(std::span<const double> words, uint64_t rows, uint64_t depth) {
  const Tiles at(rows, depth);
  std::vector<double> out(rows * depth);
  for (uint64_t row = 0; row < rows; ++row) {
    for (uint64_t k = 0; k < depth; ++k) {
      const uint64_t block = k / kRoundedBlock, i = k % kRoundedBlock;
      const auto four = static_cast<int64_t>(words[at.word(row, block, i / 4)]);
      const auto code = static_cast<int8_t>(four >> (8 * (i % 4)) & 0xff);
      const auto scale = static_cast<int32_t>(words[at.word(row, block, kScaleWord)]);
      out[row * depth + k] = double(std::bit_cast<float>(scale)) * code;
    }
  }
  return out;
}

}  // namespace mlxn::cases
