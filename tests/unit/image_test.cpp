#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "metal/msl/interface.h"
#include "metal/msl/module.h"
#include "mlxn/base/settings.h"

namespace mlxn::msl {
namespace {

using testing::HasSubstr;

Image sample_image() {
  Image image;
  image.target = "cpu;x86-64-v3;";
  image.code = {1, 2, 3, 0, 255};
  Kernel kernel;
  kernel.name = "add";
  kernel.symbol = "msl_add";
  kernel.tier = Tier::kWorkItemLoop;
  kernel.static_threadgroup_bytes = 128;
  kernel.frame_bytes = 64;
  kernel.max_total_threads = 512;
  kernel.required_threads[1] = 7;
  ArgumentInfo argument;
  argument.name = "params";
  argument.access = Access::kReadOnly;
  argument.is_reference = true;
  argument.data_size = 1ull << 40;
  argument.alignment = 16;
  argument.members = {{"n", 4, 29, 0}, {"shape", 8, 33, 4}};
  kernel.arguments = {argument, argument};
  image.kernels = {kernel, kernel, kernel};
  return image;
}

LibraryInfo sample_library() {
  LibraryInfo info;
  info.functions = {{"a", {{"flag", 53, 0, true}, {"n", 29, 9, false}}}, {"b", {}}};
  info.warnings = "program_source:1:2: warning: unused";
  return info;
}

TEST(Image, RoundTrips) {
  const Image image = sample_image();
  auto parsed = parse_image(serialize(image));
  ASSERT_TRUE(parsed) << parsed.error().to_string();
  EXPECT_EQ(serialize(*parsed), serialize(image));
  EXPECT_EQ(parsed->code, image.code);
  ASSERT_EQ(parsed->kernels.size(), 3u);
  EXPECT_EQ(parsed->kernels[2].required_threads[1], 7u);
  EXPECT_EQ(parsed->kernels[0].arguments[1].members[1].array_length, 4u);
  EXPECT_EQ(parsed->kernels[0].arguments[0].data_size, 1ull << 40);
}

TEST(Image, EveryTierAndShapeRoundTrips) {
  const Shape shapes[] = {{}, {Shape::Kind::kAny}, {Shape::Kind::kExact, {8, 4, 2}}};
  for (Tier tier : {Tier::kWorkItemLoop, Tier::kRegions, Tier::kMaskedRegions, Tier::kCoroutine}) {
    for (const Shape& shape : shapes) {
      Image image = sample_image();
      image.kernels[1].tier = tier;
      image.kernels[1].shape = shape;
      image.kernels[1].context_bytes = 64;
      image.kernels[1].context_bytes_per_simdgroup = 192;
      auto parsed = parse_image(serialize(image));
      ASSERT_TRUE(parsed) << parsed.error().to_string();
      EXPECT_EQ(parsed->kernels[1].tier, tier);
      EXPECT_EQ(parsed->kernels[1].shape, shape);
      EXPECT_EQ(parsed->kernels[1].context_bytes, 64u);
      EXPECT_EQ(parsed->kernels[1].context_bytes_per_simdgroup, 192u);
    }
  }
  Image image = sample_image();
  image.kernels[0].tier = Tier{4};
  EXPECT_FALSE(parse_image(serialize(image)));
}

TEST(LibraryInfo, RoundTrips) {
  auto parsed = parse_library_info(serialize(sample_library()));
  ASSERT_TRUE(parsed) << parsed.error().to_string();
  EXPECT_EQ(parsed->functions[0].constants[1].name, "n");
  EXPECT_FALSE(parsed->functions[0].constants[1].required);
  EXPECT_EQ(parsed->warnings, sample_library().warnings);
}

TEST(Image, EveryTruncationIsAnError) {
  const std::vector<uint8_t> bytes = serialize(sample_image());
  for (size_t n = 0; n < bytes.size(); ++n) {
    auto parsed = parse_image({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)});
    ASSERT_FALSE(parsed) << n;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kCorruptData);
  }
}

TEST(Image, TrailingBytesAreAnError) {
  std::vector<uint8_t> bytes = serialize(sample_image());
  bytes.push_back(0);
  EXPECT_THAT(parse_image(bytes).error().message(), HasSubstr("1 bytes too many"));
}

TEST(Image, KindsAreNotMixedUp) {
  EXPECT_THAT(parse_image(serialize(sample_library())).error().message(), HasSubstr("magic"));
  EXPECT_FALSE(parse_library_info(serialize(sample_image())));
}

TEST(Image, FlippedBytesNeverCrash) {
  const std::vector<uint8_t> bytes = serialize(sample_image());
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bad = bytes;
    for (int i = 0; i < 3; ++i) bad[random() % bad.size()] = static_cast<uint8_t>(random());
    if (auto parsed = parse_image(bad)) {
      EXPECT_EQ(serialize(*parsed), bad);
    } else {
      EXPECT_EQ(parsed.error().code(), ErrorCode::kCorruptData);
    }
  }
}

TEST(Image, HugeCountsAllocateNothing) {
  std::vector<uint8_t> bytes = serialize(Image{});
  // The first count (length of the target string) follows magic and version.
  for (size_t i = 8; i < 16; ++i) bytes[i] = 0xff;
  EXPECT_THAT(parse_image(bytes).error().message(), HasSubstr("count 18446744073709551615"));
}

TEST(Target, KeysDiffer) {
  Target a{Target::Kind::kCpu, "x86-64-v3", ""};
  Target b{Target::Kind::kCpu, "x86-64-v3", "+avx512bf16"};
  Target c{Target::Kind::kPtx, "x86-64-v3", ""};
  EXPECT_NE(a.to_key(), b.to_key());
  EXPECT_NE(a.to_key(), c.to_key());
}

TEST(Module, VersionNamesTheToolChain) {
  EXPECT_THAT(code_version(), HasSubstr("llvm19"));
}

TEST(Module, MissingModuleIsAClearError) {
  ScopedSetting path(Setting::kMslModule, "/nonexistent/libmlxn_msl.so");
  auto loaded = compiler();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(loaded.error().message(), HasSubstr("/nonexistent/libmlxn_msl.so"));
}

}  // namespace
}  // namespace mlxn::msl
