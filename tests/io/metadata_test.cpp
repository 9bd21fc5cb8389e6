#include "mlxn/io/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace mlxn::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
MetaValue array_of(MetaType type, std::vector<T> values) {
  return {.type = MetaType::kArray, .data = MetaArray{type, std::move(values)}};
}

Metadata sample() {
  Metadata out;
  EXPECT_TRUE(out.add("count", {MetaType::kU32, uint64_t{32}}));
  EXPECT_TRUE(out.add("signed", {MetaType::kI32, int64_t{7}}));
  EXPECT_TRUE(out.add("negative", {MetaType::kI32, int64_t{-7}}));
  EXPECT_TRUE(out.add("eps", {MetaType::kF32, 0.5}));
  EXPECT_TRUE(out.add("name", {MetaType::kString, std::string("llama")}));
  EXPECT_TRUE(out.add("yes", {MetaType::kBool, true}));
  EXPECT_TRUE(out.add("tokens", array_of<std::string>(MetaType::kString, {"a", "b"})));
  EXPECT_TRUE(out.add("types", array_of<int64_t>(MetaType::kI32, {1, -2})));
  EXPECT_TRUE(out.add("sizes", array_of<uint64_t>(MetaType::kU64, {1, uint64_t{1} << 63})));
  EXPECT_TRUE(out.add("small", array_of<uint64_t>(MetaType::kU8, {1, 2})));
  EXPECT_TRUE(out.add("scores", array_of<double>(MetaType::kF32, {0.25})));
  return out;
}

template <class T>
void expect_wrong(const Result<T>& result, const std::string& message) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kCorruptData);
  EXPECT_THAT(result.error().message(), HasSubstr(message));
}

TEST(Metadata, ScalarsConvertWhereTheyFit) {
  const Metadata meta = sample();
  EXPECT_EQ(*meta.unsigned_integer("count"), 32u);
  EXPECT_EQ(*meta.unsigned_integer("signed"), 7u);
  EXPECT_EQ(*meta.number("eps"), 0.5);
  EXPECT_EQ(*meta.number("count"), 32.0);
  EXPECT_EQ(*meta.number("negative"), -7.0);
  EXPECT_EQ(*meta.text("name"), "llama");
  EXPECT_TRUE(*meta.flag("yes", false));
}

TEST(Metadata, WrongKindsAreNamed) {
  const Metadata meta = sample();
  expect_wrong(meta.unsigned_integer("negative"), "'negative' is -7, expected zero or more");
  expect_wrong(meta.unsigned_integer("eps"), "'eps' is a value of type f32, expected an integer");
  expect_wrong(meta.unsigned_integer("yes"), "type bool, expected an integer");
  expect_wrong(meta.unsigned_integer("tokens"), "an array of 2 values of type string");
  expect_wrong(meta.number("name"), "type string, expected a number");
  expect_wrong(meta.text("count"), "type u32, expected a string");
  expect_wrong(meta.flag("count", true), "type u32, expected a truth value");
  expect_wrong(meta.unsigned_integer("none"), "metadata 'none' is missing");
  expect_wrong(meta.text("none"), "metadata 'none' is missing");
}

TEST(Metadata, AFallbackIsForMissingNamesOnly) {
  const Metadata meta = sample();
  EXPECT_EQ(*meta.unsigned_integer("none", 5), 5u);
  EXPECT_EQ(*meta.unsigned_integer("count", 5), 32u);
  EXPECT_EQ(*meta.number("none", 0.5), 0.5);
  EXPECT_EQ(*meta.text("none", "x"), "x");
  EXPECT_TRUE(*meta.flag("none", true));
  expect_wrong(meta.unsigned_integer("name", 5), "expected an integer");
  expect_wrong(meta.text("count", "x"), "expected a string");
}

TEST(Metadata, Arrays) {
  const Metadata meta = sample();
  EXPECT_THAT(*meta.texts("tokens"), ElementsAre("a", "b"));
  EXPECT_THAT(*meta.integers("types"), ElementsAre(1, -2));
  EXPECT_THAT(*meta.integers("small"), ElementsAre(1, 2));
  EXPECT_THAT(*meta.numbers("scores"), ElementsAre(0.25));
  EXPECT_THAT(*meta.numbers("types"), ElementsAre(1.0, -2.0));
  expect_wrong(meta.integers("sizes"), "holds 9223372036854775808, expected at most 2^63 - 1");
  expect_wrong(meta.integers("scores"), "type f32, expected an array of integers");
  expect_wrong(meta.integers("count"), "expected an array of integers");
  expect_wrong(meta.texts("types"), "type i32, expected an array of strings");
  expect_wrong(meta.numbers("tokens"), "expected an array of numbers");
  expect_wrong(meta.texts("none"), "metadata 'none' is missing");
}

TEST(Metadata, NamesAreUniqueAndKeepTheirOrder) {
  Metadata meta = sample();
  expect_wrong(meta.add("count", {MetaType::kU8, uint64_t{1}}), "'count' is there twice");
  EXPECT_EQ(*meta.unsigned_integer("count"), 32u);
  EXPECT_EQ(meta.entries().size(), 11u);
  EXPECT_EQ(meta.entries()[0].first, "count");
  EXPECT_EQ(meta.entries()[10].first, "scores");
  EXPECT_TRUE(meta.has("eps"));
  EXPECT_FALSE(meta.has("ep"));
}

TEST(Metadata, TypesHaveNames) {
  EXPECT_EQ(to_string(MetaType::kU8), "u8");
  EXPECT_EQ(to_string(MetaType::kArray), "array");
  EXPECT_EQ(to_string(MetaType::kF64), "f64");
  EXPECT_EQ(to_string(static_cast<MetaType>(13)), "unknown");
}

}  // namespace
}  // namespace mlxn::io
