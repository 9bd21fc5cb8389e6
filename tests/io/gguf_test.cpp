#include "mlxn/io/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>

#include "mlxn/base/strings.h"
#include "mlxn/io/ggml_types.h"
#include "mlxn/io/gguf_writer.h"
#include "tests/io/raw_gguf.h"
#include "tests/io/temp_folder.h"

namespace mlxn::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One entry of each type, arrays of several, and three tensors.
std::vector<std::byte> valid_file(uint32_t version = 3) {
  RawGguf raw(3, 17, version);
  raw.entry("general.architecture", "llama");
  raw.entry("u8", MetaType::kU8, uint8_t{200}).entry("i8", MetaType::kI8, int8_t{-100});
  raw.entry("u16", MetaType::kU16, uint16_t{60000}).entry("i16", MetaType::kI16, int16_t{-30000});
  raw.entry("u32", MetaType::kU32, uint32_t{4000000000}).entry("i32", MetaType::kI32, int32_t{-5});
  raw.entry("f32", MetaType::kF32, 0.1f).entry("bool", MetaType::kBool, uint8_t{1});
  raw.entry("u64", MetaType::kU64, std::numeric_limits<uint64_t>::max());
  raw.entry("i64", MetaType::kI64, std::numeric_limits<int64_t>::min());
  raw.entry("f64", MetaType::kF64, 0.1);
  raw.array("texts", MetaType::kString, 2).text("a").text(std::string("\xff\0", 2));
  raw.array("bools", MetaType::kBool, 2).number(uint8_t{1}).number(uint8_t{0});
  raw.array("nested", MetaType::kArray, 2);
  raw.type(MetaType::kU8).number(uint64_t{1}).number(uint8_t{7});
  raw.type(MetaType::kString).number(uint64_t{1}).text("x");
  raw.array("none", MetaType::kString, 0);
  raw.entry("general.alignment", MetaType::kU32, uint32_t{64});
  raw.tensor("first", {8, 2}, 0, 0).tensor("scalar", {}, 24, 64).tensor("last", {32}, 2, 128);
  return raw.data(128 + 18, 64).bytes();
}

TEST(Gguf, ReadsAllTypesOfMetadata) {
  for (uint32_t version : {2, 3}) {
    const auto bytes = valid_file(version);
    auto file = GgufFile::parse(bytes);
    ASSERT_TRUE(file) << file.error().to_string();
    const Metadata& meta = file->metadata();
    EXPECT_EQ(file->version(), version);
    EXPECT_EQ(meta.entries().size(), 17u);
    EXPECT_EQ(*meta.text("general.architecture"), "llama");
    EXPECT_EQ(*meta.unsigned_integer("u8"), 200u);
    EXPECT_EQ(*meta.number("i8"), -100);
    EXPECT_EQ(*meta.unsigned_integer("u16"), 60000u);
    EXPECT_EQ(*meta.number("i16"), -30000);
    EXPECT_EQ(*meta.unsigned_integer("u32"), 4000000000u);
    EXPECT_EQ(*meta.number("i32"), -5);
    EXPECT_EQ(*meta.number("f32"), double{0.1f});
    EXPECT_TRUE(*meta.flag("bool", false));
    EXPECT_EQ(*meta.unsigned_integer("u64"), std::numeric_limits<uint64_t>::max());
    EXPECT_EQ(std::get<int64_t>(meta.find("i64")->data), std::numeric_limits<int64_t>::min());
    EXPECT_EQ(*meta.number("f64"), 0.1);
    EXPECT_THAT(*meta.texts("texts"), ElementsAre("a", std::string("\xff\0", 2)));
    EXPECT_THAT(*meta.texts("none"), IsEmpty());
    EXPECT_THAT(std::get<std::vector<bool>>(meta.find("bools")->array()->elements),
                ElementsAre(true, false));
    const auto& nested = std::get<std::vector<MetaArray>>(meta.find("nested")->array()->elements);
    ASSERT_EQ(nested.size(), 2u);
    EXPECT_THAT(std::get<std::vector<uint64_t>>(nested[0].elements), ElementsAre(7));
    EXPECT_THAT(std::get<std::vector<std::string>>(nested[1].elements), ElementsAre("x"));
  }
}

TEST(Gguf, ReadsTensorsWithoutACopy) {
  const auto bytes = valid_file();
  auto file = GgufFile::parse(bytes);
  ASSERT_TRUE(file) << file.error().to_string();
  ASSERT_EQ(file->tensors().size(), 3u);
  const TensorInfo* first = file->find("first");
  ASSERT_NE(first, nullptr);
  EXPECT_THAT(first->dims, ElementsAre(8, 2));
  EXPECT_EQ(first->elements, 16u);
  EXPECT_EQ(first->bytes, 64u);
  EXPECT_EQ(first->dtype, Dtype::kF32);
  EXPECT_EQ(first->type_name, "f32");
  EXPECT_EQ(first->offset % 64, 0u);
  EXPECT_EQ(file->data(*first)->data(), bytes.data() + first->offset);
  EXPECT_EQ((*file->data(*first))[0], std::byte{1});
  const TensorInfo* last = file->find("last");
  EXPECT_EQ(last->bytes, 18u);
  EXPECT_EQ((*file->data(*last))[17], std::byte{146});
  EXPECT_THAT(file->find("scalar")->dims, IsEmpty());
  EXPECT_EQ(file->find("scalar")->bytes, 1u);
  EXPECT_EQ(file->find("other"), nullptr);
}

TEST(Gguf, CutAtEveryLengthIsAnError) {
  const auto bytes = valid_file();
  ASSERT_TRUE(GgufFile::parse(bytes));
  for (size_t size = 0; size < bytes.size(); ++size) {
    // A copy of just that size, so that the address sanitizer sees a byte too far.
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<long>(size));
    auto file = GgufFile::parse(cut);
    ASSERT_FALSE(file) << size;
    EXPECT_EQ(file.error().code(), ErrorCode::kCorruptData) << size;
  }
}

TEST(Gguf, ChangedBytesNeverBreakTheRules) {
  const auto bytes = valid_file();
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int change : {0x01, 0x80, 0xFF}) {
      auto changed = bytes;
      changed[at] ^= static_cast<std::byte>(change);
      auto file = GgufFile::parse(changed);
      if (!file) continue;
      for (const TensorInfo& tensor : file->tensors()) {
        auto data = file->data(tensor);
        if (data) {
          EXPECT_EQ(data->size(), tensor.bytes);
        }
      }
    }
  }
}

TEST(Gguf, AnUnknownTypeSpoilsItsTensorOnly) {
  RawGguf raw(3, 0);
  raw.tensor("new", {100}, 1000, 0).tensor("old", {32}, 4, 32).tensor("good", {4}, 0, 64);
  const auto bytes = raw.data(80).bytes();
  auto file = GgufFile::parse(bytes);
  ASSERT_TRUE(file) << file.error().to_string();
  for (const char* name : {"new", "old"}) {
    const TensorInfo* tensor = file->find(name);
    ASSERT_NE(tensor, nullptr);
    EXPECT_FALSE(tensor->dtype);
    auto data = file->data(*tensor);
    ASSERT_FALSE(data);
    EXPECT_EQ(data.error().code(), ErrorCode::kUnsupported);
    EXPECT_THAT(data.error().message(), HasSubstr(str("type ", tensor->type)));
  }
  EXPECT_EQ(file->find("new")->type_name, "unknown");
  EXPECT_EQ(file->find("old")->type_name, "q4_2");
  EXPECT_TRUE(file->data(*file->find("good")));
}

TEST(Gguf, EveryTypeHasANameAndASize) {
  uint32_t number = 0;
  for (const GgmlType& type : ggml_types()) {
    EXPECT_EQ(type.number, number++);
    EXPECT_FALSE(type.name.empty());
    if (!type.dtype) continue;
    EXPECT_EQ(info(*type.dtype).name, type.name);
    EXPECT_EQ(info(*type.dtype).block_elements, type.block_elements);
    EXPECT_EQ(info(*type.dtype).block_bytes, type.block_bytes);
    EXPECT_EQ(find_ggml_type(*type.dtype), &type);
  }
  EXPECT_EQ(number, 43u);
  EXPECT_EQ(find_ggml_type(number), nullptr);
  EXPECT_EQ(find_ggml_type(Dtype::kU32), nullptr);
}

TEST(Gguf, AFileThatShrinksIsAnError) {
  TempFolder folder;
  const std::string path = folder.write("m.gguf", valid_file());
  auto file = GgufFile::open(path);
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_TRUE(file->data(file->tensors()[0]));
  std::filesystem::resize_file(path, 100);
  auto data = file->data(file->tensors()[0]);
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().code(), ErrorCode::kIo);
  EXPECT_THAT(data.error().message(), HasSubstr("has 100 bytes"));
}

TEST(Gguf, TheMapOutlivesTheFileObject) {
  TempFolder folder;
  const std::string path = folder.write("m.gguf", valid_file());
  std::shared_ptr<const MappedFile> map;
  std::span<const std::byte> data;
  {
    auto file = GgufFile::open(path);
    ASSERT_TRUE(file);
    map = file->mapping(0);
    data = *file->data(file->tensors()[0]);
  }
  EXPECT_EQ(data[0], std::byte{1});
  EXPECT_EQ(map->path(), path);
}

TEST(Gguf, OpenNamesTheFileInErrors) {
  TempFolder folder;
  const std::string path = folder.write("m.gguf", "GGUX");
  auto file = GgufFile::open(path);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message(), HasSubstr(path));
  EXPECT_EQ(GgufFile::open(folder.path("none")).error().code(), ErrorCode::kIo);
}

// A part of a split model with one tensor "t<number>".
std::vector<std::byte> split_part(uint16_t number, uint16_t count, int32_t total,
                                  const char* tensor = nullptr) {
  RawGguf raw(1, 3);
  raw.entry("split.no", MetaType::kU16, number).entry("split.count", MetaType::kU16, count);
  raw.entry("split.tensors.count", MetaType::kI32, total);
  raw.tensor(tensor ? tensor : str("t", number), {4}, 0, 0);
  return raw.data(16).bytes();
}

TEST(GgufSplit, TheFirstPartOpensAll) {
  TempFolder folder;
  const std::string first = folder.write("m-00001-of-00003.gguf", split_part(0, 3, 3));
  folder.write("m-00002-of-00003.gguf", split_part(1, 3, 3));
  folder.write("m-00003-of-00003.gguf", split_part(2, 3, 3));
  auto file = GgufFile::open(first);
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->parts(), 3u);
  ASSERT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->find("t2")->part, 2u);
  EXPECT_EQ((*file->data(*file->find("t2"))).data(),
            file->mapping(2)->bytes()->data() + file->find("t2")->offset);
}

void expect_bad_split(const std::string& path, const std::string& message,
                      ErrorCode code = ErrorCode::kCorruptData) {
  auto file = GgufFile::open(path);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), code);
  EXPECT_THAT(file.error().message(), HasSubstr(message));
}

TEST(GgufSplit, PartsMustFitTogether) {
  TempFolder folder;
  const std::string first = folder.write("m-00001-of-00002.gguf", split_part(0, 2, 2));
  const std::string second = folder.path("m-00002-of-00002.gguf");
  expect_bad_split(first, "m-00002-of-00002.gguf: cannot open", ErrorCode::kIo);
  folder.write("m-00002-of-00002.gguf", split_part(1, 2, 2));
  EXPECT_TRUE(GgufFile::open(first));
  expect_bad_split(second, "expected the first: " + first, ErrorCode::kInvalidArgument);
  folder.write("m-00002-of-00002.gguf", split_part(0, 2, 2));
  expect_bad_split(first, "this is part 0 of 2, expected part 1 of 2");
  folder.write("m-00002-of-00002.gguf", split_part(1, 3, 2));
  expect_bad_split(first, "this is part 1 of 3, expected part 1 of 2");
  folder.write("m-00002-of-00002.gguf", split_part(1, 2, 2, "t0"));
  expect_bad_split(first, "tensor 't0' is there twice");
  folder.write("m-00002-of-00002.gguf", valid_file());
  expect_bad_split(first, "metadata 'split.no' is missing");
  folder.write("m-00001-of-00002.gguf", split_part(0, 2, 3));
  folder.write("m-00002-of-00002.gguf", split_part(1, 2, 3));
  expect_bad_split(first, "2 tensors in 2 parts, expected 3");
  folder.write("m-00001-of-00002.gguf", split_part(0, 65535, 3));
  expect_bad_split(first, "65535 parts, expected at most 4096");
  expect_bad_split(folder.write("model.gguf", split_part(0, 2, 2)), "does not fit the file's name");
  expect_bad_split(folder.write("m-00003-of-00002.gguf", split_part(2, 2, 2)), "does not fit");
}

}  // namespace
}  // namespace mlxn::io
