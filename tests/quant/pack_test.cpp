// Packed weights are the stored ones, bit for bit.
#include "mlxn/quant/pack_rows.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "mlxn/quant/reference.h"

namespace mlxn::quant {
namespace {

std::vector<std::byte> random_bytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> out(count);
  for (std::byte& byte : out) byte = std::byte(random() & 0xff);
  return out;
}

// Any bytes are weights: scales are infinite or NaN at times, and every code occurs.
void expect_same_bits(Dtype dtype, uint64_t rows, uint64_t depth) {
  const auto layout = packed_layout(dtype, rows, depth);
  ASSERT_TRUE(layout) << layout.error().to_string();
  const auto stored = random_bytes(layout->stored_bytes(), static_cast<uint32_t>(rows + depth));
  std::vector<std::byte> packed(layout->packed_bytes(), std::byte{0xa5});
  for (uint64_t group = layout->groups; group-- > 0;)
    ASSERT_TRUE(pack_group(*layout, stored, group, packed));
  std::vector<float> expected(rows * depth), actual(rows * depth);
  ASSERT_TRUE(dequantise(dtype, stored, expected));
  ASSERT_TRUE(unpack_rows(*layout, packed, actual));
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(actual[i]) && std::isnan(expected[i])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(actual[i]), std::bit_cast<uint32_t>(expected[i]))
        << to_string(dtype) << " " << rows << "x" << depth << ": element " << i << " is "
        << actual[i] << ", expected " << expected[i];
  }
}

TEST(PackedRows, HaveTheBitsOfStoredOnes) {
  size_t formats = 0;
  for (Dtype dtype : kWeightFormats) {
    if (!can_pack(dtype)) continue;
    ++formats;
    const uint64_t block = info(dtype).is_float ? 13 : info(dtype).block_elements;
    for (uint64_t rows : {1u, 15u, 16u, 17u, 40u})
      for (uint64_t blocks : {1u, 2u, 3u, 8u}) expect_same_bits(dtype, rows, blocks * block);
  }
  EXPECT_EQ(formats, 13u);
}

TEST(PackedRows, LastGroupIsFilledUpWithZeros) {
  const auto layout = packed_layout(Dtype::kQ8_0, 1, 32);
  ASSERT_TRUE(layout);
  const auto stored = random_bytes(layout->stored_bytes(), 1);
  std::vector<std::byte> packed(layout->packed_bytes(), std::byte{0xa5});
  ASSERT_TRUE(pack_group(*layout, stored, 0, packed));
  const auto wide = packed_layout(Dtype::kQ8_0, 16, 64);
  ASSERT_TRUE(wide);
  ASSERT_EQ(wide->packed_bytes(), packed.size());
  std::vector<float> values(16 * 64);
  ASSERT_TRUE(unpack_rows(*wide, packed, values));
  for (size_t i = 32; i < values.size(); ++i) ASSERT_EQ(values[i], 0) << i;
}

void expect_refused(const Result<PackedLayout>& layout, ErrorCode code, std::string_view text) {
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().code(), code) << layout.error().to_string();
  EXPECT_NE(layout.error().to_string().find(text), std::string::npos) << layout.error().to_string();
}

TEST(PackedRows, RefuseWhatCannotBePacked) {
  using enum ErrorCode;
  constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max() / 64 * 32;
  expect_refused(packed_layout(Dtype::kI32, 4, 64), kUnsupported, "weights of i32");
  expect_refused(packed_layout(Dtype::kQ2_K, 4, 256), kUnsupported, "weights of q2_k");
  expect_refused(packed_layout(Dtype::kQ4_0, 4, 40), kShapeMismatch, "40 elements of q4_0");
  expect_refused(packed_layout(Dtype::kQ4_0, 0, 64), kShapeMismatch, "0 rows of 64 elements");
  expect_refused(packed_layout(Dtype::kQ8_0, 4, kHuge), kOutOfRange, "overflows");
  expect_refused(packed_layout(Dtype::kQ8_0, kHuge, 64), kOutOfRange, "overflows");
}

TEST(PackedRows, RefuseOtherSizes) {
  const auto layout = packed_layout(Dtype::kQ4_0, 17, 64);
  ASSERT_TRUE(layout);
  std::vector<std::byte> stored(layout->stored_bytes()), packed(layout->packed_bytes());
  std::vector<float> values(17 * 64);
  EXPECT_TRUE(pack_group(*layout, stored, 1, packed));
  EXPECT_EQ(pack_group(*layout, stored, 2, packed).error().code(), ErrorCode::kOutOfRange);
  const auto cut = std::span(stored).first(stored.size() - 1);
  EXPECT_EQ(pack_group(*layout, cut, 0, packed).error().code(), ErrorCode::kShapeMismatch);
  packed.pop_back();
  EXPECT_EQ(pack_group(*layout, stored, 0, packed).error().code(), ErrorCode::kShapeMismatch);
  EXPECT_EQ(unpack_rows(*layout, packed, values).error().code(), ErrorCode::kShapeMismatch);
}

}  // namespace
}  // namespace mlxn::quant
