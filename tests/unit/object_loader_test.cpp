#include "metal/exec/cpu/object_loader.h"

#include <elf.h>
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "metal/exec/cpu/runtime_symbols.h"
#include "tests/unit/cpu_fixture.h"

namespace mlxn::cpu {
namespace {

using testing::HasSubstr;

TEST(ObjectLoader, FindsFunctionsByName) {
  auto object = LoadedObject::load(read_object("loops"));
  ASSERT_TRUE(object) << object.error().to_string();
  EXPECT_TRUE((*object)->find_function("increment"));
  EXPECT_THAT((*object)->find_function("table").error().message(), HasSubstr("\"table\""));
  EXPECT_EQ((*object)->find_function("nothing").error().code(), ErrorCode::kFunctionNotFound);
}

TEST(ObjectLoader, ForeignFunctionsAreNamedInTheError) {
  auto object = LoadedObject::load(read_object("unknown"));
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code(), ErrorCode::kPipelineFailed);
  EXPECT_THAT(object.error().message(), HasSubstr("\"system\""));
}

TEST(ObjectLoader, EveryTruncationIsAnError) {
  const std::vector<uint8_t> bytes = read_object("loops");
  for (size_t n = 0; n < bytes.size(); ++n) {
    auto object = LoadedObject::load(std::span(bytes).first(n));
    ASSERT_FALSE(object) << n;
    EXPECT_EQ(object.error().code(), ErrorCode::kCorruptData) << n;
  }
}

TEST(ObjectLoader, OtherFilesAreRefused) {
  EXPECT_THAT(LoadedObject::load(std::vector<uint8_t>(200)).error().message(),
              HasSubstr("not an ELF"));
  std::vector<uint8_t> bytes = read_object("loops");
  reinterpret_cast<Elf64_Ehdr*>(bytes.data())->e_machine = EM_AARCH64;
  EXPECT_EQ(LoadedObject::load(bytes).error().code(), ErrorCode::kUnsupported);
}

// Changes one byte of the structures (headers, symbols, relocations) at a time; loading must
// survive.
TEST(ObjectLoader, DamagedObjectsNeverCrash) {
  const std::vector<uint8_t> bytes = read_object("loops");
  std::mt19937 random(3);
  int errors = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bad = bytes;
    for (int i = 0; i < 2; ++i) bad[random() % bad.size()] = static_cast<uint8_t>(random());
    errors += !LoadedObject::load(bad);
  }
  EXPECT_GT(errors, 1000);
}

TEST(ObjectLoader, DamagedHeadersNeverCrash) {
  const std::vector<uint8_t> bytes = read_object("coroutines");
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (size_t at = header.e_shoff; at < bytes.size(); ++at) {
    for (uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<uint8_t> bad = bytes;
      bad[at] = value;
      (void)LoadedObject::load(bad).has_value();
    }
  }
}

TEST(RuntimeSymbols, OnlyListedNames) {
  EXPECT_NE(runtime_symbol("sinf"), nullptr);
  EXPECT_NE(runtime_symbol("memcpy"), nullptr);
  EXPECT_EQ(runtime_symbol("system"), nullptr);
  EXPECT_EQ(runtime_symbol(""), nullptr);
}

// A narrowing function as kernels call it: the 16 bits come back in a vector register.
template <class From>
uint16_t narrow(const char* name, From value) {
  auto function = reinterpret_cast<float (*)(From)>(runtime_symbol(name));
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(function(value)));
}

float half_to_float(uint16_t half) {
  auto function = reinterpret_cast<float (*)(float)>(runtime_symbol("__extendhfsf2"));
  return function(std::bit_cast<float>(uint32_t{half}));
}

TEST(RuntimeSymbols, HalvesWidenExactly) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const float actual = half_to_float(static_cast<uint16_t>(bits));
    if (exponent == 31 && mantissa != 0) {
      EXPECT_TRUE(std::isnan(actual));
      continue;
    }
    float expected = exponent == 31 ? INFINITY
                     : exponent == 0
                         ? std::ldexp(static_cast<float>(mantissa), -24)
                         : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
    if (bits >> 15) expected = -expected;
    ASSERT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(expected)) << bits;
  }
}

TEST(RuntimeSymbols, HalvesNarrowToTheNearestEven) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {  // every finite half and its upper neighbour
    const float low = half_to_float(static_cast<uint16_t>(bits));
    const float high = bits == 0x7bff ? 65536.0f : half_to_float(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;  // exact in float
    const uint16_t even = static_cast<uint16_t>(bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(narrow<float>("__truncsfhf2", low), bits);
    ASSERT_EQ(narrow<float>("__truncsfhf2", middle), even);
    ASSERT_EQ(narrow<float>("__truncsfhf2", std::nextafterf(middle, 0)), bits);
    ASSERT_EQ(narrow<float>("__truncsfhf2", std::nextafterf(middle, INFINITY)), bits + 1);
    // A double just above the middle rounds up; going through float would not see it.
    ASSERT_EQ(narrow<double>("__truncdfhf2", std::nextafter(double{middle}, 1e300)), bits + 1);
    ASSERT_EQ(narrow<double>("__truncdfhf2", -double{middle}), even | 0x8000);
  }
  EXPECT_EQ(narrow<float>("__truncsfhf2", INFINITY), 0x7c00);
  EXPECT_EQ(narrow<float>("__truncsfhf2", NAN) & 0x7e00, 0x7e00);
  EXPECT_EQ(narrow<float>("__truncsfhf2", 1e-30f), 0);
}

TEST(RuntimeSymbols, BfloatsNarrowToTheNearestEven) {
  std::mt19937 random(5);
  for (int i = 0; i < 100000; ++i) {
    const uint32_t bits = static_cast<uint32_t>(random());
    const float value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) continue;
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    ASSERT_EQ(narrow<float>("__truncsfbf2", value), rounded) << value;
    ASSERT_EQ(narrow<double>("__truncdfbf2", double{value}), rounded) << value;
  }
  EXPECT_EQ(narrow<float>("__truncsfbf2", INFINITY), 0x7f80);
  EXPECT_EQ(narrow<float>("__truncsfbf2", NAN) & 0x7fc0, 0x7fc0);
}

}  // namespace
}  // namespace mlxn::cpu
