#include "mlxn/io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "mlxn/base/strings.h"
#include "mlxn/io/internal/byte_writer.h"
#include "tests/io/temp_folder.h"

namespace mlxn::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// A file with this header and `data` bytes 0, 1, 2, ...
std::vector<std::byte> file_of(std::string_view header, uint64_t data) {
  ByteWriter out;
  out.counted_text(header);
  for (uint64_t i = 0; i < data; ++i) out.number(static_cast<uint8_t>(i));
  return out.take();
}

constexpr std::string_view kTwo =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
    R"("b":{"dtype":"BF16","shape":[],"data_offsets":[24,26]}}  )";

TEST(Safetensors, ReadsTensorsWithoutACopy) {
  const auto bytes = file_of(kTwo, 26);
  auto file = SafetensorsFile::parse(bytes);
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_THAT(file->metadata(), ElementsAre(Pair("format", "pt")));
  ASSERT_EQ(file->tensors().size(), 2u);
  const TensorInfo* a = file->find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_THAT(a->dims, ElementsAre(3, 2));
  EXPECT_EQ(a->dtype, Dtype::kF32);
  EXPECT_EQ(a->type_name, "F32");
  EXPECT_EQ(file->data(*a)->data(), bytes.data() + bytes.size() - 26);
  EXPECT_EQ(file->data(*a)->size(), 24u);
  const TensorInfo* b = file->find("b");
  EXPECT_THAT(b->dims, IsEmpty());
  EXPECT_EQ((*file->data(*b))[1], std::byte{25});
  EXPECT_EQ(file->find("__metadata__"), nullptr);
}

TEST(Safetensors, CutAtEveryLengthIsAnError) {
  const auto bytes = file_of(kTwo, 26);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<long>(size));
    auto file = SafetensorsFile::parse(cut);
    ASSERT_FALSE(file) << size;
    EXPECT_EQ(file.error().code(), ErrorCode::kCorruptData) << size;
  }
}

TEST(Safetensors, TensorsMayBeEmpty) {
  const auto bytes = file_of(R"({"a":{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]},
      "b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
                             2);
  auto file = SafetensorsFile::parse(bytes);
  ASSERT_TRUE(file) << file.error().to_string();
  ASSERT_TRUE(file->data(*file->find("a")));
  EXPECT_TRUE(file->data(*file->find("a"))->empty());
  EXPECT_TRUE(SafetensorsFile::parse(file_of("{}", 0)));
  EXPECT_TRUE(SafetensorsFile::parse(file_of(R"({"__metadata__":null})", 0)));
}

TEST(Safetensors, AnUnknownDtypeSpoilsItsTensorOnly) {
  const auto bytes = file_of(R"({"a":{"dtype":"Z9","shape":[7],"data_offsets":[0,3]},
      "b":{"dtype":"F64","shape":[1],"data_offsets":[3,11]}})",
                             11);
  auto file = SafetensorsFile::parse(bytes);
  ASSERT_TRUE(file) << file.error().to_string();
  auto data = file->data(*file->find("a"));
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(file->find("b")->dtype, std::nullopt);
  EXPECT_EQ(file->data(*file->find("b"))->size(), 8u);
}

struct Case {
  const char* name;
  std::string header;
  const char* message;
  uint64_t data = 4;
};

// The tensor "b" behind two bytes of "a".
std::string with(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return str(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":)", dtype,
             R"(,"shape":)", shape, R"(,"data_offsets":)", offsets, "}}");
}

std::vector<Case> cases() {
  const std::string deep(1000, '[');
  return {
      {"overlap", with(R"("U8")", "[3]", "[1,4]"), "starts at 1, expected 2"},
      {"same_bytes", with(R"("U8")", "[2]", "[0,2]"), "starts at 0, expected 2"},
      {"hole", with(R"("U8")", "[1]", "[3,4]"), "starts at 3, expected 2"},
      {"hidden_tail", with(R"("U8")", "[2]", "[2,4]"), "5 bytes of data, expected the 4", 5},
      {"past_the_end", with(R"("U8")", "[3]", "[2,5]"), "ends at 5, expected it inside the 4"},
      {"backwards", with(R"("U8")", "[2]", "[4,2]"), "ends at 2, before its start 4"},
      {"too_small", with(R"("F32")", "[1]", "[2,4]"), "1 elements of F32 in 2 bytes"},
      {"half_a_byte", with(R"("F4")", "[3]", "[2,4]"), "3 elements of F4 in 2 bytes"},
      {"elements_wrap", with(R"("U8")", "[4294967296,4294967296]", "[2,4]"), "2^63 - 1 elements"},
      {"bytes_wrap", with(R"("F64")", "[2305843009213693952]", "[2,2]"), "elements of F64 in 0"},
      {"offsets_wrap", with(R"("U8")", "[2]", "[18446744073709551615,18446744073709551617]"),
       "an offset is number"},
      {"offset_is_huge", with(R"("U8")", "[0]", "[18446744073709551615,18446744073709551615]"),
       "starts at 18446744073709551615"},
      {"negative_dimension", with(R"("U8")", "[-2]", "[2,4]"), "a dimension is number"},
      {"dimension_with_a_point", with(R"("U8")", "[2.0]", "[2,4]"), "a dimension is number"},
      {"shape_is_text", with(R"("U8")", R"("2")", "[2,4]"), "shape is string"},
      {"too_many_dimensions", with(R"("U8")", "[1,1,1,1,1,1,1,1,2]", "[2,4]"), "9 dimensions"},
      {"dtype_is_a_number", with("8", "[2]", "[2,4]"), "dtype is number"},
      {"one_offset", with(R"("U8")", "[2]", "[2]"), "a list of two numbers"},
      {"no_dtype", R"({"a":{"shape":[4],"data_offsets":[0,4]}})", "expected an object with dtype"},
      {"other_field", R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1}})",
       "expected an object with dtype"},
      {"tensor_is_a_list", R"({"a":[]})", "expected an object with dtype"},
      {"tensor_twice", R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{}})",
       "'a' is there twice"},
      {"field_twice", R"({"a":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
       "'dtype' is there twice"},
      {"metadata_is_a_list", R"({"__metadata__":[]})", "__metadata__, expected an object", 0},
      {"metadata_holds_a_number", R"({"__metadata__":{"a":1}})", "'a' is number", 0},
      {"metadata_is_deep", R"({"__metadata__":{"a":{"b":{}}}})", "nested deeper than 3", 0},
      {"nested_without_end", str(R"({"a":)", deep), "nested deeper than 3", 0},
      {"list", "[]", "does not start with {", 0},
      {"nothing", "", "does not start with {", 0},
      {"space_first", " {}", "does not start with {", 0},
      {"not_json", "{,}", "not valid at byte 2", 0},
      {"two_values", "{}{}", "not valid at byte 3", 0},
      {"not_utf8", "{\"\xff\":1}", "not valid at byte", 0},
      {"number_is_huge", R"({"a":1e999})", "not valid at byte", 0},
  };
}

class SafetensorsHostile : public ::testing::TestWithParam<Case> {};

TEST_P(SafetensorsHostile, IsRefused) {
  const auto bytes = file_of(GetParam().header, GetParam().data);
  auto file = SafetensorsFile::parse(bytes);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::kCorruptData);
  EXPECT_THAT(file.error().message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(Header, SafetensorsHostile, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SafetensorsHostile, HeaderLengths) {
  for (uint64_t length :
       {uint64_t{3}, uint64_t{1} << 24, uint64_t{1} << 40, std::numeric_limits<uint64_t>::max()}) {
    ByteWriter out;
    out.number(length);
    out.append(std::as_bytes(std::span("{}", 2)));
    const auto bytes = out.take();
    EXPECT_FALSE(SafetensorsFile::parse(bytes)) << length;
  }
}

TEST(SafetensorsHostile, LimitsAreKept) {
  const auto bytes = file_of(kTwo, 26);
  EXPECT_FALSE(SafetensorsFile::parse(bytes, {.header_bytes = 50}));
  EXPECT_FALSE(SafetensorsFile::parse(bytes, {.tensors = 1}));
  EXPECT_FALSE(SafetensorsFile::parse(bytes, {.dims = 1}));
}

TEST(Safetensors, AFileThatShrinksIsAnError) {
  TempFolder folder;
  const std::string path = folder.write("model.safetensors", file_of(kTwo, 26));
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file) << file.error().to_string();
  std::filesystem::resize_file(path, 20);
  auto data = file->data(*file->find("a"));
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().code(), ErrorCode::kIo);
}

std::vector<std::byte> one_tensor(const std::string& name) {
  return file_of(str(R"({")", name, R"(":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})"), 3);
}

TEST(SafetensorsIndex, OpensAllFiles) {
  TempFolder folder;
  folder.write("one.safetensors", one_tensor("a"));
  folder.write("two.safetensors", file_of(kTwo, 26));
  folder.write("model.safetensors.index.json",
               R"({"metadata":{"total_size":5},
                   "weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  for (const std::string& path : {folder.path(""), folder.path("model.safetensors.index.json")}) {
    auto file = SafetensorsFile::open(path);
    ASSERT_TRUE(file) << file.error().to_string();
    EXPECT_EQ(file->parts(), 2u);
    ASSERT_EQ(file->tensors().size(), 2u);  // "a" of the second file is not in the index
    EXPECT_EQ(file->find("a")->part, 0u);
    EXPECT_EQ(file->find("a")->bytes, 3u);
    EXPECT_EQ((*file->data(*file->find("b")))[0], std::byte{24});
  }
}

TEST(SafetensorsIndex, AFolderMayHoldOneFile) {
  TempFolder folder;
  EXPECT_EQ(SafetensorsFile::open(folder.path("")).error().code(), ErrorCode::kIo);
  folder.write("model.safetensors", one_tensor("a"));
  auto file = SafetensorsFile::open(folder.path(""));
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->mapping(0)->path(), folder.path("model.safetensors"));
}

TEST(SafetensorsIndex, MustNameFilesAndTensorsThatAreThere) {
  TempFolder folder;
  folder.write("one.safetensors", one_tensor("a"));
  const auto refused = [&](std::string_view index, const std::string& message, ErrorCode code) {
    auto file = SafetensorsFile::open(folder.write("i.json", index));
    ASSERT_FALSE(file) << message;
    EXPECT_EQ(file.error().code(), code);
    EXPECT_THAT(file.error().message(), HasSubstr(message));
  };
  constexpr auto kCorrupt = ErrorCode::kCorruptData;
  refused(R"({"weight_map":{"a":"none.safetensors"}})", "cannot open", ErrorCode::kIo);
  refused(R"({"weight_map":{"b":"one.safetensors"}})", "no tensor 'b'", kCorrupt);
  refused(R"({"weight_map":{"a":"one.safetensors","a":"one.safetensors"}})", "twice", kCorrupt);
  refused(R"({"weight_map":{"a":5}})", "in number, expected the name of a file", kCorrupt);
  refused(R"({"weight_map":[]})", "no object weight_map", kCorrupt);
  refused("[]", "no object weight_map", kCorrupt);
  refused("{", "not valid", kCorrupt);
  for (const char* name : {"../one.safetensors", "/etc/passwd", "a/b", "..", ".", "", "a\\\\b",
                           "one.safetensors\\u0000"}) {
    refused(str(R"({"weight_map":{"a":")", name, R"("}})"), "file in the same folder", kCorrupt);
  }
}

}  // namespace
}  // namespace mlxn::io
