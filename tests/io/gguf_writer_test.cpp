#include "mlxn/io/gguf_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <limits>
#include <string>

#include "mlxn/io/gguf.h"
#include "tests/io/temp_folder.h"

namespace mlxn::io {
namespace {

using ::testing::HasSubstr;

template <class T>
MetaValue array_of(MetaType type, std::vector<T> values) {
  return {.type = MetaType::kArray, .data = MetaArray{type, std::move(values)}};
}

std::vector<std::pair<std::string, MetaValue>> all_kinds() {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  return {
      {"u8", {MetaType::kU8, uint64_t{255}}},
      {"i8", {MetaType::kI8, int64_t{-128}}},
      {"u16", {MetaType::kU16, uint64_t{65535}}},
      {"i16", {MetaType::kI16, int64_t{-32768}}},
      {"u32", {MetaType::kU32, uint64_t{4294967295}}},
      {"i32", {MetaType::kI32, int64_t{-2147483648}}},
      {"f32", {MetaType::kF32, 0.5}},
      {"bool", {MetaType::kBool, true}},
      {"text", {MetaType::kString, std::string("a\0\xff", 3)}},
      {"u64", {MetaType::kU64, kMax}},
      {"i64", {MetaType::kI64, kMin}},
      {"f64", {MetaType::kF64, 0.1}},
      {"u8s", array_of<uint64_t>(MetaType::kU8, {1, 255})},
      {"i8s", array_of<int64_t>(MetaType::kI8, {1, -128})},
      {"f32s", array_of<double>(MetaType::kF32, {0.5, -INFINITY})},
      {"bools", array_of<bool>(MetaType::kBool, {true, false})},
      {"texts", array_of<std::string>(MetaType::kString, {"", "b"})},
      {"u64s", array_of<uint64_t>(MetaType::kU64, {kMax})},
      {"none", array_of<double>(MetaType::kF64, {})},
      {"nested", array_of<MetaArray>(MetaType::kArray,
                                     {{MetaType::kI16, std::vector<int64_t>{-3}},
                                      {MetaType::kString, std::vector<std::string>{"x", "y"}}})},
  };
}

bool same(const MetaArray& a, const MetaArray& b) {
  if (a.type != b.type || a.elements.index() != b.elements.index()) return false;
  return std::visit(
      [&](const auto& left) {
        const auto& right = std::get<std::decay_t<decltype(left)>>(b.elements);
        return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                          [](const auto& x, const auto& y) {
                            if constexpr (std::is_same_v<std::decay_t<decltype(x)>, MetaArray>)
                              return same(x, y);
                            else
                              return x == y;
                          });
      },
      a.elements);
}

void expect_same(const MetaValue& a, const MetaValue& b) {
  EXPECT_EQ(a.type, b.type);
  ASSERT_EQ(a.data.index(), b.data.index());
  std::visit(
      [&](const auto& left) {
        using T = std::decay_t<decltype(left)>;
        if constexpr (std::is_same_v<T, MetaArray>)
          EXPECT_TRUE(same(left, *b.array()));
        else
          EXPECT_EQ(left, std::get<T>(b.data));
      },
      a.data);
}

const std::vector<std::byte> kData(4096, std::byte{42});

std::span<const std::byte> bytes_of(size_t count) {
  return std::span(kData).first(count);
}

TEST(GgufWriter, WhatIsWrittenIsRead) {
  for (uint64_t alignment : {1, 32, 4096}) {
    GgufWriter writer(alignment);
    for (auto& [name, value] : all_kinds()) ASSERT_TRUE(writer.add(name, value)) << name;
    ASSERT_TRUE(writer.add_tensor("a", Dtype::kF32, {3, 5}, bytes_of(60)));
    ASSERT_TRUE(writer.add_tensor("b", Dtype::kQ4_K, {256, 2, 1, 1}, bytes_of(288)));
    ASSERT_TRUE(writer.add_tensor("c", 16, {256}, bytes_of(66)));  // iq2_xxs
    ASSERT_TRUE(writer.add_tensor("d", Dtype::kI8, {}, bytes_of(1)));
    auto bytes = writer.to_bytes();
    ASSERT_TRUE(bytes) << bytes.error().to_string();
    auto file = GgufFile::parse(*bytes);
    ASSERT_TRUE(file) << file.error().to_string();
    EXPECT_EQ(file->version(), 3u);
    for (auto& [name, value] : all_kinds()) {
      ASSERT_TRUE(file->metadata().has(name)) << name;
      expect_same(*file->metadata().find(name), value);
    }
    EXPECT_EQ(*file->metadata().unsigned_integer("general.alignment", 32), alignment);
    ASSERT_EQ(file->tensors().size(), 4u);
    for (const TensorInfo& tensor : file->tensors()) {
      EXPECT_EQ(tensor.offset % alignment, 0u);
      ASSERT_TRUE(file->data(tensor));
      EXPECT_EQ(file->data(tensor)->back(), std::byte{42});
    }
    EXPECT_EQ(file->find("b")->dims, (std::vector<uint64_t>{256, 2, 1, 1}));
    EXPECT_EQ(file->find("c")->type_name, "iq2_xxs");
  }
}

TEST(GgufWriter, TheFileIsWholeOrOld) {
  TempFolder folder;
  const std::string path = folder.write("m.gguf", "old");
  GgufWriter writer;
  ASSERT_TRUE(writer.add_tensor("a", 0, {4}, [&]() -> Result<std::span<const std::byte>> {
    return Error(ErrorCode::kIo, "the source is gone");
  }));
  auto written = writer.write(path);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message(), "the source is gone");
  EXPECT_EQ(std::filesystem::file_size(path), 3u);
  EXPECT_EQ(folder.files(), 1u);
  GgufWriter other;
  ASSERT_TRUE(other.add_tensor("a", Dtype::kF32, {4}, bytes_of(16)));
  ASSERT_TRUE(other.write(path));
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_TRUE(GgufFile::open(path));
}

TEST(GgufWriter, AFullDiskIsAnError) {
  TempFolder folder;
  GgufWriter writer;
  ASSERT_TRUE(writer.add_tensor("a", Dtype::kI8, {4096}, bytes_of(4096)));
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit small = {1000, old.rlim_max};
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  auto written = writer.write(folder.path("m.gguf"));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::kIo);
  EXPECT_THAT(written.error().message(), HasSubstr("cannot write"));
  EXPECT_EQ(folder.files(), 0u);
  auto nowhere = writer.write(folder.path("none/m.gguf"));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code(), ErrorCode::kIo);
}

void expect_invalid(const Status& status, const std::string& message,
                    ErrorCode code = ErrorCode::kInvalidArgument) {
  ASSERT_FALSE(status) << message;
  EXPECT_EQ(status.error().code(), code);
  EXPECT_THAT(status.error().message(), HasSubstr(message));
}

TEST(GgufWriter, MetadataMustBeWhatItSays) {
  GgufWriter writer;
  expect_invalid(writer.add("a", {MetaType::kU8, uint64_t{256}}), "value 256 does not fit into 8");
  expect_invalid(writer.add("a", {MetaType::kI16, int64_t{40000}}), "40000 does not fit into 16");
  expect_invalid(writer.add("a", {MetaType::kF32, 1e300}), "does not fit into an f32");
  expect_invalid(writer.add("a", {MetaType::kU8, 1.0}), "marked with: u8");
  expect_invalid(writer.add("a", {MetaType::kString, true}), "marked with: string");
  expect_invalid(writer.add("a", {MetaType::kArray, uint64_t{1}}), "marked with: array");
  expect_invalid(writer.add("a", array_of<uint64_t>(MetaType::kI8, {1})), "marked with: i8");
  expect_invalid(writer.add("a", array_of<int64_t>(MetaType::kI8, {1, 128})), "128 does not fit");
  MetaArray deep{MetaType::kU8, std::vector<uint64_t>{1}};
  for (int i = 0; i < 4; ++i) deep = {MetaType::kArray, std::vector<MetaArray>{deep}};
  expect_invalid(writer.add("a", {MetaType::kArray, deep}), "nested deeper than 4");
  expect_invalid(writer.add("", {MetaType::kBool, true}), "0 bytes");
  expect_invalid(writer.add("general.alignment", {MetaType::kU32, uint64_t{64}}), "constructor");
  ASSERT_TRUE(writer.add("a", {MetaType::kBool, true}));
  expect_invalid(writer.add("a", {MetaType::kBool, true}), "'a' is there already");
}

TEST(GgufWriter, TensorsMustFit) {
  GgufWriter writer;
  constexpr auto kUnsupported = ErrorCode::kUnsupported;
  expect_invalid(writer.add_tensor("a", Dtype::kF32, {4}, bytes_of(15)), "15 bytes, expected 16");
  expect_invalid(writer.add_tensor("a", Dtype::kQ4_0, {16, 2}, bytes_of(18)), "multiple of 32");
  expect_invalid(writer.add_tensor("a", Dtype::kF32, {0}, {}), "a dimension of 0");
  expect_invalid(writer.add_tensor("a", Dtype::kF32, {1, 1, 1, 1, 1}, bytes_of(4)), "5 dimensions");
  expect_invalid(writer.add_tensor("a", Dtype::kU32, {1}, bytes_of(4)), "u32", kUnsupported);
  expect_invalid(writer.add_tensor("a", 4, {32}, bytes_of(4)), "type 4", kUnsupported);
  expect_invalid(writer.add_tensor("a", Dtype::kI64, {uint64_t{1} << 61}, {}), "overflows",
                 ErrorCode::kOutOfRange);
  expect_invalid(writer.add_tensor("", Dtype::kF32, {1}, bytes_of(4)), "0 bytes");
  ASSERT_TRUE(writer.add_tensor("a", Dtype::kF32, {1}, bytes_of(4)));
  expect_invalid(writer.add_tensor("a", Dtype::kF32, {1}, bytes_of(4)), "'a' is there already");
  expect_invalid(GgufWriter(48).add_tensor("a", Dtype::kF32, {1}, bytes_of(4)), "alignment 48");
  expect_invalid(GgufWriter(0).write("x"), "alignment 0");
  GgufWriter liar;
  ASSERT_TRUE(liar.add_tensor("a", 0, {4}, [] { return bytes_of(12); }));
  auto bytes = liar.to_bytes();
  ASSERT_FALSE(bytes);
  EXPECT_THAT(bytes.error().message(), HasSubstr("gave 12 bytes, expected 16"));
}

}  // namespace
}  // namespace mlxn::io
