#include "mlxn/io/mlx_quantised.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "mlxn/base/strings.h"
#include "mlxn/io/internal/byte_writer.h"

namespace mlxn::io {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kRows = 2, kColumns = 64;

uint32_t code_at(uint64_t i, uint32_t bits) {
  return static_cast<uint32_t>(i * 7 + 3) & ((1u << bits) - 1);
}
float scale_at(uint64_t group) {
  return 0.5f + static_cast<float>(group);
}
float bias_at(uint64_t group) {
  return -2.0f * static_cast<float>(group);
}

// A layer "l" of 2 rows of 64 values. Codes are put into words bit by bit.
std::vector<std::byte> quantised_file(uint32_t bits, uint32_t group,
                                      std::string_view biases = "l.biases") {
  const uint64_t words = kRows * kColumns * bits / 32, groups = kRows * kColumns / group;
  std::vector<uint32_t> packed(words);
  for (uint64_t i = 0; i < kRows * kColumns; ++i) {
    for (uint32_t b = 0; b < bits; ++b) {
      const uint64_t at = i * bits + b;
      packed[at / 32] |= ((code_at(i, bits) >> b) & 1) << (at % 32);
    }
  }
  const uint64_t first = 4 * words, second = first + 4 * groups;
  ByteWriter out;
  out.counted_text(
      str(R"({"l.weight":{"dtype":"U32","shape":[2,)", words / 2, R"(],"data_offsets":[0,)", first,
          R"(]},"l.scales":{"dtype":"F32","shape":[2,)", groups / 2, R"(],"data_offsets":[)", first,
          ",", second, R"(]},")", biases, R"(":{"dtype":"F32","shape":[2,)", groups / 2,
          R"(],"data_offsets":[)", second, ",", second + 4 * groups, "]}}"));
  for (uint32_t word : packed) out.number(word);
  for (uint64_t g = 0; g < groups; ++g) out.number(scale_at(g));
  for (uint64_t g = 0; g < groups; ++g) out.number(bias_at(g));
  return out.take();
}

TEST(MlxQuantised, AllWidthsOfCodes) {
  for (uint32_t bits : {2, 3, 4, 5, 6, 8}) {
    for (uint32_t group : {32, 64}) {
      const auto bytes = quantised_file(bits, group);
      auto file = SafetensorsFile::parse(bytes);
      ASSERT_TRUE(file) << file.error().to_string();
      auto matrix = find_mlx_matrix(*file, "l", {.common = {group, bits}, .layers = {}});
      ASSERT_TRUE(matrix) << matrix.error().to_string();
      ASSERT_TRUE(*matrix);
      EXPECT_EQ((*matrix)->rows, kRows);
      EXPECT_EQ((*matrix)->columns, kColumns);
      std::vector<float> values(kRows * kColumns);
      ASSERT_TRUE(dequantise(*file, **matrix, values));
      for (uint64_t i = 0; i < values.size(); ++i) {
        const float expected =
            scale_at(i / group) * static_cast<float>(code_at(i, bits)) + bias_at(i / group);
        ASSERT_EQ(values[i], expected) << bits << " bits, value " << i;
      }
      EXPECT_FALSE(dequantise(*file, **matrix, std::span(values).first(5)));
    }
  }
}

TEST(MlxQuantised, OtherLayersAreLeftAlone) {
  const auto bytes = quantised_file(4, 32);
  auto file = SafetensorsFile::parse(bytes);
  ASSERT_TRUE(file);
  auto none = find_mlx_matrix(*file, "other", {});
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  MlxQuantisation off{.common = {32, 4}, .layers = {{"l", std::nullopt}}};
  EXPECT_FALSE(*find_mlx_matrix(*file, "l", off));
}

TEST(MlxQuantised, ShapesMustFitTheFormat) {
  const auto bytes = quantised_file(4, 32);
  auto file = SafetensorsFile::parse(bytes);
  ASSERT_TRUE(file);
  for (MlxFormat wrong : {MlxFormat{64, 4}, MlxFormat{32, 8}, MlxFormat{32, 3}}) {
    auto matrix = find_mlx_matrix(*file, "l", {.common = wrong, .layers = {}});
    ASSERT_FALSE(matrix);
    EXPECT_EQ(matrix.error().code(), ErrorCode::kCorruptData);
    EXPECT_THAT(matrix.error().message(), HasSubstr("'l.weight' does not have 2 rows"));
  }
  const auto without = quantised_file(4, 32, "l.other");
  auto other = SafetensorsFile::parse(without);
  ASSERT_TRUE(other);
  auto matrix = find_mlx_matrix(*other, "l", {.common = {32, 4}, .layers = {}});
  ASSERT_FALSE(matrix);
  EXPECT_THAT(matrix.error().message(), HasSubstr("has scales and no biases"));
}

TEST(MlxQuantised, ReadsTheConfig) {
  auto read = read_mlx_quantisation(
      R"({"model_type":"llama","quantization":{"group_size":32,"bits":8,"mode":"affine",
          "a.b":{"bits":4},"c":false,"d":true}})");
  ASSERT_TRUE(read) << read.error().to_string();
  ASSERT_TRUE(*read);
  EXPECT_EQ((*read)->common.group_size, 32u);
  EXPECT_EQ((*read)->format_of("x")->bits, 8u);
  EXPECT_EQ((*read)->format_of("d")->bits, 8u);
  EXPECT_EQ((*read)->format_of("a.b")->bits, 4u);
  EXPECT_EQ((*read)->format_of("a.b")->group_size, 32u);
  EXPECT_FALSE((*read)->format_of("c"));
  auto plain = read_mlx_quantisation("{}");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(*plain);
}

TEST(MlxQuantised, RefusesOtherConfigs) {
  for (const char* fields :
       {R"({"bits":7})", R"({"bits":-4})", R"({"bits":"4"})", R"({"bits":1e9})",
        R"({"group_size":0})", R"({"group_size":12})", "[]", "4"}) {
    auto read = read_mlx_quantisation(str(R"({"quantization":)", fields, "}"));
    ASSERT_FALSE(read) << fields;
    EXPECT_EQ(read.error().code(), ErrorCode::kCorruptData);
  }
  auto mode = read_mlx_quantisation(R"({"quantization":{"mode":"mxfp4"}})");
  ASSERT_FALSE(mode);
  EXPECT_EQ(mode.error().code(), ErrorCode::kUnsupported);
  EXPECT_FALSE(read_mlx_quantisation("{"));
}

}  // namespace
}  // namespace mlxn::io
