// Files that are wrong in one way each. Cases named after a report hold the shape of file that
// broke another reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "mlxn/io/gguf.h"
#include "tests/io/raw_gguf.h"

namespace mlxn::io {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kF32 = 0, kQ4_0 = 2, kI8 = 24, kI64 = 27;

struct Case {
  const char* name;
  RawGguf file;
  const char* message;
  ErrorCode code = ErrorCode::kCorruptData;
};

RawGguf one_tensor(std::vector<uint64_t> dims, uint32_t type, uint64_t offset = 0) {
  return RawGguf(1, 0).tensor("t", std::move(dims), type, offset).data(256);
}

RawGguf alignment(MetaType type, uint64_t value) {
  RawGguf raw(0, 1);
  raw.text("general.alignment").type(type);
  return type == MetaType::kU64 ? raw.number(value) : raw.number(static_cast<uint32_t>(value));
}

RawGguf nested(int depth) {
  RawGguf raw(0, 1);
  raw.text("deep").type(MetaType::kArray);
  for (int i = 1; i < depth; ++i) raw.type(MetaType::kArray).number(uint64_t{1});
  return raw.type(MetaType::kU8).number(uint64_t{0}).zeros(64);
}

// Sizes and offsets of tensors.
std::vector<Case> tensor_cases() {
  return {
      {"CVE_2025_53630_sum_of_sizes_wraps",
       RawGguf(2, 0).tensor("a", {uint64_t{1} << 60}, kI64, 0).tensor("b", {8}, kI8, 0).data(256),
       "take more bytes than the file has"},
      {"CVE_2026_27940_one_size_is_the_whole_range", one_tensor({(uint64_t{1} << 61) - 1}, kI64),
       "take more bytes"},
      {"CVE_2026_33298_size_wraps_to_zero", one_tensor({uint64_t{1} << 61}, kI64), "take more"},
      {"llama_24759_padding_wraps", one_tensor({(uint64_t{1} << 63) - 1}, kI8), "take more bytes"},
      {"llama_27200_q4_0_bytes_wrap", one_tensor({uint64_t{1} << 60, 7}, kQ4_0), "take more"},
      {"llama_27203_elements_wrap_to_zero", one_tensor({uint64_t{1} << 32, uint64_t{1} << 32}, kI8),
       "more than 2^63 - 1 elements"},
      {"llama_27203_elements_wrap_to_few", one_tensor({(uint64_t{1} << 63) + 8, 2}, kI8),
       "more than 2^63 - 1 elements"},
      {"llama_26318_sum_past_the_file",
       RawGguf(2, 0).tensor("a", {250}, kI8, 0).tensor("b", {250}, kI8, 256).data(256),
       "expected them inside the 256 bytes"},
      {"mlx_4244_size_has_33_bits", one_tensor({(uint64_t{1} << 32) + 32}, kQ4_0), "take more"},
      {"CVE_2026_7482_tensor_past_the_end", one_tensor({65}, kF32), "has 260 bytes at 0"},
      {"ollama_16183_no_elements", one_tensor({0}, kF32, 256), "dimension 0 is 0"},
      {"ollama_16183_no_elements_in_a_later_dimension", one_tensor({4, 0}, kF32), "dimension 1"},
      {"a_dimension_is_negative", one_tensor({kMax}, kF32), "more than 2^63 - 1"},
      {"five_dimensions", one_tensor({1, 1, 1, 1, 1}, kF32), "5 dimensions, expected at most 4"},
      {"dimensions_beyond_all", RawGguf(1, 0).text("t").number(0xFFFFFFFFu).data(64),
       "4294967295 dimensions"},
      {"half_a_block", one_tensor({48}, kQ4_0), "rows of 48 elements of type q4_0"},
      {"rows_are_no_blocks", one_tensor({16, 2}, kQ4_0), "expected a multiple of 32"},
      {"offset_is_not_aligned", one_tensor({4}, kF32, 16), "at 16, expected a multiple of 32"},
      {"offset_is_past_the_end", one_tensor({4}, kF32, 256), "at 256"},
      {"offset_wraps", one_tensor({4}, kF32, kMax - 31), "inside the 256 bytes"},
      {"offset_of_an_unknown_type_wraps", one_tensor({4}, 1000, kMax - 31), "inside the 256 bytes"},
      {"tensors_overlap",
       RawGguf(2, 0).tensor("a", {16}, kF32, 32).tensor("b", {16}, kF32, 0).data(256),
       "'b' and 'a' overlap"},
      {"tensors_are_the_same_bytes",
       RawGguf(2, 0).tensor("a", {16}, kF32, 0).tensor("b", {16}, kF32, 0).data(256), "overlap"},
      {"tensor_twice", RawGguf(2, 0).tensor("a", {4}, kF32, 0).tensor("a", {4}, kF32, 32).data(64),
       "tensor 'a' is there twice"},
      {"tensor_without_a_name", RawGguf(1, 0).tensor("", {4}, kF32, 0).data(64), "0 bytes"},
      {"tensor_name_with_nul",
       RawGguf(1, 0).tensor(std::string_view("a\0b", 3), {4}, kF32, 0).data(64), "NUL"},
      {"data_are_missing", RawGguf(1, 0).tensor("t", {4}, kF32, 0), "the 0 bytes of data"},
      {"tensor_count_is_huge", RawGguf(kMax, 0).zeros(256), "tensors, expected at most 262144"},
      {"tensor_count_has_no_bytes", RawGguf(1000, 0).zeros(256), "1000 tensors in 256 bytes"},
      {"alignment_pushes_data_past_the_end",
       RawGguf(1, 1)
           .entry("general.alignment", MetaType::kU32, uint32_t{1} << 20)
           .tensor("t", {4}, kF32, 0)
           .data(256),
       "the 0 bytes of data"},
  };
}

// Metadata.
std::vector<Case> metadata_cases() {
  return {
      {"llama_24997_alignment_is_zero", alignment(MetaType::kU32, 0), "is 0, expected a power"},
      {"alignment_is_no_power_of_two", alignment(MetaType::kU32, 48), "is 48"},
      {"alignment_is_huge", alignment(MetaType::kU64, uint64_t{1} << 63), "is 9223372036854775808"},
      {"alignment_is_negative", alignment(MetaType::kI32, 0xFFFFFFE0), "is -32"},
      {"alignment_is_a_number_with_a_point", alignment(MetaType::kF32, 0x42000000), "of type f32"},
      {"gguf_py_27188_array_without_end", RawGguf(0, 1).array("a", MetaType::kU8, kMax),
       "an array of 18446744073709551615 values"},
      {"gguf_py_27188_arrays_without_end",
       RawGguf(0, 1).array("a", MetaType::kArray, kMax).zeros(64), "values of type array"},
      {"array_of_strings_has_no_bytes", RawGguf(0, 1).array("a", MetaType::kString, 9).zeros(64),
       "an array of 9 values of type string in 64 bytes"},
      {"ggml_709_array_size_wraps",
       RawGguf(0, 1).array("a", MetaType::kU64, (uint64_t{1} << 61) + 1).zeros(64), "an array of"},
      {"mlx_4213_string_past_the_end",
       RawGguf(0, 1).text("a").type(MetaType::kString).number(uint64_t{100}).zeros(99),
       "the file ends too early: 100 bytes"},
      {"string_length_wraps",
       RawGguf(0, 1).text("a").type(MetaType::kString).number(kMax).zeros(64), "ends too early"},
      {"name_length_wraps", RawGguf(0, 1).number(kMax).zeros(64), "a name of 18446744073709551615"},
      {"name_is_too_long", RawGguf(0, 1).entry(std::string(65536, 'a'), "x"), "65536 bytes"},
      {"name_is_empty", RawGguf(0, 1).entry("", "x"), "a name of 0 bytes"},
      {"name_with_nul", RawGguf(0, 1).entry(std::string_view("a\0", 2), "x"), "NUL"},
      {"entry_twice", RawGguf(0, 2).entry("a", "x").entry("a", "y"), "'a' is there twice"},
      {"entry_count_is_huge", RawGguf(0, kMax).zeros(64), "metadata entries, expected at most"},
      {"entry_count_has_no_bytes", RawGguf(0, 100).zeros(64), "100 metadata entries in 64 bytes"},
      {"value_type_13", RawGguf(0, 1).text("a").number(uint32_t{13}).zeros(64), "value type 13"},
      {"element_type_13",
       RawGguf(0, 1)
           .text("a")
           .type(MetaType::kArray)
           .number(uint32_t{13})
           .number(uint64_t{1})
           .zeros(64),
       "value type 13"},
      {"truth_value_2", RawGguf(0, 1).entry("a", MetaType::kBool, uint8_t{2}), "truth value 2"},
      {"arrays_nested_too_deep", nested(5), "nested deeper than 4"},
      {"arrays_nested_without_end", nested(100000), "nested deeper than 4"},
  };
}

std::vector<Case> head_cases() {
  constexpr auto kUnsupported = ErrorCode::kUnsupported;
  return {
      {"version_0", RawGguf(0, 0, 0), "version 0", kUnsupported},
      {"version_1", RawGguf(0, 0, 1), "version 1, expected 2 or 3", kUnsupported},
      {"version_4", RawGguf(0, 0, 4), "version 4", kUnsupported},
      {"big_endian", RawGguf(0, 0, 0x03000000), "big-endian", kUnsupported},
  };
}

class GgufHostile : public ::testing::TestWithParam<Case> {};

TEST_P(GgufHostile, IsRefused) {
  const auto bytes = GetParam().file.bytes();
  auto file = GgufFile::parse(bytes);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), GetParam().code) << file.error().to_string();
  EXPECT_THAT(file.error().message(), HasSubstr(GetParam().message));
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Tensors, GgufHostile, ::testing::ValuesIn(tensor_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Metadata, GgufHostile, ::testing::ValuesIn(metadata_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Head, GgufHostile, ::testing::ValuesIn(head_cases()), case_name);

TEST(GgufHostile, OtherMagicNumbers) {
  for (std::string_view text : {"", "G", "GGU", "GGUX\3\0\0\0", "ggml", "FUGG\0\0\0\3"}) {
    auto file = GgufFile::parse(std::as_bytes(std::span(text)));
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code(), ErrorCode::kCorruptData);
  }
}

TEST(GgufHostile, DepthAtTheLimitIsRead) {
  EXPECT_TRUE(GgufFile::parse(nested(4).bytes()));
}

TEST(GgufHostile, LimitsAreKept) {
  RawGguf raw(2, 2);
  raw.array("a", MetaType::kU8, 100).zeros(100).entry("b", std::string(1000, 'x'));
  raw.tensor("s", {4}, kF32, 0).tensor("t", {4}, kF32, 32).data(64);
  const auto bytes = raw.bytes();
  const auto refused = [&](const GgufLimits& limits, const char* message) {
    auto file = GgufFile::parse(bytes, limits);
    ASSERT_FALSE(file) << message;
    EXPECT_THAT(file.error().message(), HasSubstr(message));
  };
  EXPECT_TRUE(GgufFile::parse(bytes));
  refused({.metadata_entries = 1}, "2 metadata entries, expected at most 1");
  refused({.metadata_memory = 1000}, "more than 1000 bytes of memory");
  refused({.metadata_memory = 700}, "metadata entry 0");
  refused({.metadata_memory = 0}, "more than 0 bytes of memory");
  refused({.name_bytes = 0}, "expected at most 0");
  refused({.tensors = 1}, "2 tensors, expected at most 1");
  refused({.array_depth = 0}, "nested deeper than 0");
  refused({.alignment = 16}, "expected a power of two up to 16");
}

// llama.cpp 26690 and 25821: values of another kind where a model expects strings or a count.
TEST(GgufHostile, ValuesOfAnotherKindAreFoundByTheLookup) {
  RawGguf raw(0, 2);
  raw.array("tokenizer.ggml.tokens", MetaType::kU32, 2).zeros(8);
  raw.entry("llama.block_count", MetaType::kI32, int32_t{-1});
  const auto bytes = raw.bytes();
  auto file = GgufFile::parse(bytes);
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_FALSE(file->metadata().texts("tokenizer.ggml.tokens"));
  EXPECT_FALSE(file->metadata().unsigned_integer("llama.block_count"));
}

}  // namespace
}  // namespace mlxn::io
