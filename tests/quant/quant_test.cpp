#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "mlxn/quant/dequantise.h"
#include "mlxn/quant/formats.h"
#include "mlxn/quant/reference.h"

namespace mlxn::quant {
namespace {

using ::testing::HasSubstr;

std::vector<Dtype> block_formats() {
  std::vector<Dtype> out;
  for (const DtypeInfo& entry : dtypes()) {
    if (with_block(entry.dtype, [](auto) {})) out.push_back(entry.dtype);
  }
  return out;
}

std::vector<std::byte> blocks_for(Dtype dtype, size_t elements) {
  return std::vector<std::byte>(*size_bytes(dtype, elements));
}

std::vector<float> normal_values(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.05f);
  std::vector<float> out(count);
  for (float& x : out) x = normal(random);
  return out;
}

// Squared error over squared values.
double relative_error(std::span<const float> values, std::span<const float> other) {
  double error = 0, total = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    error += std::pow(double{values[i]} - other[i], 2);
    total += std::pow(double{values[i]}, 2);
  }
  return error / total;
}

std::vector<float> round_trip(Dtype dtype, std::span<const float> values) {
  auto bytes = blocks_for(dtype, values.size());
  std::vector<float> out(values.size());
  const Status written = quantise(dtype, values, bytes);
  EXPECT_TRUE(written) << written.error().to_string();
  const Status read = dequantise(dtype, bytes, out);
  EXPECT_TRUE(read) << read.error().to_string();
  return out;
}

TEST(Quant, KnowsThirteenBlockFormats) {
  EXPECT_EQ(block_formats().size(), 13u);
  for (Dtype dtype : block_formats()) {
    EXPECT_TRUE(is_supported(dtype));
    with_block(dtype, [&](auto block) {
      EXPECT_EQ(sizeof(block), info(dtype).block_bytes) << to_string(dtype);
      EXPECT_EQ(static_cast<uint32_t>(block.kElements), info(dtype).block_elements);
    });
  }
  EXPECT_TRUE(is_supported(Dtype::kF32));
  EXPECT_FALSE(is_supported(Dtype::kQ8_1));
  EXPECT_FALSE(is_supported(Dtype::kI32));
}

// Bounds on normally distributed values, 5 % above what the formats reach.
TEST(Quant, ErrorsAreSmall) {
  const std::vector<std::pair<Dtype, double>> bounds = {
      {Dtype::kQ4_0, 7.9e-3},   {Dtype::kQ4_1, 6.45e-3},   {Dtype::kQ5_0, 1.94e-3},
      {Dtype::kQ5_1, 1.51e-3},  {Dtype::kQ8_0, 3.04e-5},   {Dtype::kQ2_K, 7.6e-2},
      {Dtype::kQ3_K, 2.18e-2},  {Dtype::kQ4_K, 5.35e-3},   {Dtype::kQ5_K, 1.36e-3},
      {Dtype::kQ6_K, 3.18e-4},  {Dtype::kIq4_Nl, 5.73e-3}, {Dtype::kIq4_Xs, 5.85e-3},
      {Dtype::kMxfp4, 1.47e-2}, {Dtype::kBf16, 2.9e-6},    {Dtype::kF16, 4.5e-8},
      {Dtype::kF32, 0}};
  const auto values = normal_values(256 * 256, 7);
  for (auto [dtype, bound] : bounds) {
    const double error = relative_error(values, round_trip(dtype, values));
    EXPECT_LE(error, bound) << to_string(dtype);
    EXPECT_GE(error, bound * 0.85) << to_string(dtype) << ": the bound is loose";
  }
}

TEST(Quant, ZerosStayZero) {
  const std::vector<float> zeros(512, 0.0f);
  for (Dtype dtype : block_formats()) {
    for (float x : round_trip(dtype, zeros)) EXPECT_EQ(x, 0.0f) << to_string(dtype);
  }
}

TEST(Quant, EqualValuesComeBack) {
  for (float value : {1.0f, -3.5f, 0.05f, 1000.0f}) {
    const std::vector<float> values(256, value);
    for (Dtype dtype : block_formats()) {
      // A 4-bit float ends at 6, and the next power of two is 8.
      const float tolerance = std::abs(value) * (dtype == Dtype::kMxfp4 ? 0.25f : 0.02f);
      for (float x : round_trip(dtype, values))
        EXPECT_NEAR(x, value, tolerance) << to_string(dtype);
    }
  }
}

// Values that a format can hold exactly are found again.
TEST(Quant, StoredValuesAreAFixedPoint) {
  const auto values = normal_values(256 * 64, 11);
  for (Dtype dtype : block_formats()) {
    const auto once = round_trip(dtype, values);
    EXPECT_LE(relative_error(once, round_trip(dtype, once)), dtype == Dtype::kQ2_K ? 3e-2 : 2e-3)
        << to_string(dtype);
  }
}

TEST(Quant, OneValueAndAPieceAgree) {
  std::mt19937 random(3);
  for (Dtype dtype : block_formats()) {
    with_block(dtype, [&](auto block) {
      auto* bytes = reinterpret_cast<unsigned char*>(&block);
      for (size_t i = 0; i < sizeof block; ++i) bytes[i] = random() & 0x3B;  // finite scales
      for (int piece = 0; piece < block.kPieces; ++piece) {
        float values[16];
        dequantise_piece(block, piece, values);
        for (int j = 0; j < 16; ++j) EXPECT_EQ(values[j], dequantised(block, 16 * piece + j));
      }
    });
  }
}

TEST(Quant, BytesNeedNoAlignment) {
  const auto values = normal_values(256, 5);
  for (Dtype dtype : block_formats()) {
    std::vector<std::byte> bytes(*size_bytes(dtype, 256) + 1);
    const auto odd = std::span(bytes).subspan(1);
    ASSERT_TRUE(quantise(dtype, values, odd));
    std::vector<float> out(256);
    ASSERT_TRUE(dequantise(dtype, odd, out));
    EXPECT_EQ(out, round_trip(dtype, values));
  }
}

void expect_error(const Status& status, ErrorCode code, const std::string& message) {
  ASSERT_FALSE(status) << message;
  EXPECT_EQ(status.error().code(), code);
  EXPECT_THAT(status.error().message(), HasSubstr(message));
}

TEST(Quant, SizesMustFit) {
  std::vector<float> values(256);
  std::vector<std::byte> bytes(144);
  expect_error(dequantise(Dtype::kQ4_K, std::span(bytes).first(143), values),
               ErrorCode::kShapeMismatch, "143 bytes for 256 values of q4_k, expected 144");
  expect_error(quantise(Dtype::kQ4_K, std::span(values).first(255), bytes),
               ErrorCode::kShapeMismatch, "255 elements of q4_k, expected a multiple of 256");
  expect_error(quantise(Dtype::kF16, values, bytes), ErrorCode::kShapeMismatch, "expected 512");
  expect_error(dequantise(Dtype::kQ8_K, std::vector<std::byte>(292), values),
               ErrorCode::kUnsupported, "q8_k");
  EXPECT_TRUE(dequantise(Dtype::kF32, {}, {}));
  EXPECT_TRUE(quantise(Dtype::kQ6_K, {}, {}));
}

TEST(Quant, ValuesThatDoNotFitAreRefused) {
  for (Dtype dtype : block_formats()) {
    auto bytes = blocks_for(dtype, 512);
    std::vector<float> values(512, 1.0f);
    for (float bad : {NAN, INFINITY, -INFINITY}) {
      values[300] = bad;
      expect_error(quantise(dtype, values, bytes), ErrorCode::kInvalidArgument, "element 300 is");
    }
    if (dtype == Dtype::kMxfp4) continue;  // its scale has the exponents of an f32
    for (float large : {1e9f, -1e9f, std::numeric_limits<float>::max()}) {
      values[300] = large;
      expect_error(quantise(dtype, values, bytes), ErrorCode::kInvalidArgument, "a scale of");
    }
  }
}

TEST(Quant, TinyAndLargestValuesDoNoHarm) {
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  for (Dtype dtype : block_formats()) {
    std::vector<float> values(256, kTiny);
    values[7] = -kTiny;
    for (float x : round_trip(dtype, values)) EXPECT_LE(std::abs(x), 1e-6f) << to_string(dtype);
  }
  const std::vector<float> values(32, std::numeric_limits<float>::max());
  for (float x : round_trip(Dtype::kMxfp4, values)) EXPECT_GT(x, 2e38f);
}

TEST(Half, AllPatternsSurvive) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = half_value(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE((bits & 0x7C00) == 0x7C00 && (bits & 0x3FF));
      EXPECT_EQ(half_bits(value) | 0x200, bits | 0x200);
    } else {
      EXPECT_EQ(half_bits(value), bits);
    }
  }
  EXPECT_EQ(half_value(0x3C00), 1.0f);
  EXPECT_EQ(half_value(0x0001), 0x1p-24f);
  EXPECT_EQ(half_value(0xFBFF), -65504.0f);
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(half_bits(1.0f + 0x1p-11f), 0x3C00);
  EXPECT_EQ(half_bits(1.0f + 0x1.8p-10f), 0x3C02);
  EXPECT_EQ(half_bits(std::nextafter(1.0f + 0x1p-11f, 2.0f)), 0x3C01);
  EXPECT_EQ(half_bits(0x1p-25f), 0);
  EXPECT_EQ(half_bits(std::nextafter(0x1p-25f, 1.0f)), 1);
  EXPECT_EQ(half_bits(0x1.8p-24f), 2);
  EXPECT_EQ(half_bits(std::nextafter(0x1p-14f, 0.0f)), 0x0400);
  EXPECT_EQ(half_bits(65519.99f), 0x7BFF);
  EXPECT_EQ(half_bits(65520.0f), 0x7C00);
  EXPECT_EQ(half_bits(-INFINITY), 0xFC00);
  EXPECT_EQ(half_bits(-0.0f), 0x8000);
}

TEST(Bfloat, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = bfloat_value(static_cast<uint16_t>(bits));
    if (!std::isnan(value)) {
      EXPECT_EQ(bfloat_bits(value), bits);
    }
  }
  EXPECT_EQ(bfloat_bits(1.0f + 0x1p-8f), 0x3F80);
  EXPECT_EQ(bfloat_bits(1.0f + 0x1.8p-7f), 0x3F82);
  EXPECT_EQ(bfloat_bits(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(bfloat_bits(std::bit_cast<float>(0x7F800001u)), 0x7FC0);
}

TEST(Mxfp4, ScalesArePowersOfTwo) {
  EXPECT_EQ(halved_power(128), 1.0f);
  EXPECT_EQ(halved_power(127), 0.5f);
  EXPECT_EQ(halved_power(1), 0x1p-127f);
  EXPECT_EQ(halved_power(0), 0x1p-128f);
  EXPECT_EQ(halved_power(255), 0x1p127f);
}

}  // namespace
}  // namespace mlxn::quant
