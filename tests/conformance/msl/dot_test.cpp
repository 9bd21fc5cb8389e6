// The builtins of mlxn/ops/common/dot.h, as instructions and in their plain form, in every kind of
// code the compiler makes: alone, in loops, under conditions, between simdgroup operations.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <random>

#include "tests/conformance/msl/gpu.h"

namespace {

using namespace msl_test;

constexpr size_t kThreads = 4096, kSteps = 37;

constexpr const char* kKernels = R"(
#define WORDS(n, i) device const uint* a [[buffer(1)]], device const uint* b [[buffer(2)]], \
                    device const uint* c [[buffer(3)]], constant uint& n [[buffer(4)]], \
                    uint i [[thread_position_in_grid]]
uint bytes(uint a, uint b, uint c) {
  return as_type<uint>(dot4(a, as_type<int>(b), as_type<int>(c)));
}
uint bfloats(uint a, uint b, uint c) {
  return as_type<uint>(dot2(as_type<bfloat2>(a), as_type<bfloat2>(b), as_type<float>(c)));
}
#define KERNELS(dot)                                                                          \
  kernel void dot##_alone(device uint* out [[buffer(0)]], WORDS(n, i)) {                      \
    out[i] = dot(a[i], b[i], c[i]);                                                           \
  }                                                                                           \
  kernel void dot##_uniform(device uint* out [[buffer(0)]], WORDS(n, i)) {                    \
    uint low = c[i], high = c[i];                                                             \
    for (uint k = 0; k < n; ++k) {                                                            \
      low = dot(a[i], b[k], low);                                                             \
      high = dot(a[k], b[i], high);                                                           \
    }                                                                                         \
    out[i] = low;                                                                             \
    out[i + 4096] = high;                                                                     \
  }                                                                                           \
  kernel void dot##_divergent(device uint* out [[buffer(0)]], WORDS(n, i)) {                  \
    uint sum = c[i];                                                                          \
    for (uint k = 0; k < i % n; ++k)                                                          \
      if (((i ^ k) & 1) == 0) sum = dot(a[(i + k) % 4096], b[k], sum);                        \
    out[i] = sum;                                                                             \
  }                                                                                           \
  kernel void dot##_between(device uint* out [[buffer(0)]], WORDS(n, i)) {                    \
    uint sum = c[i];                                                                          \
    for (uint k = 0; k < n; ++k) sum = dot(simd_shuffle(a[(i + k) % 4096], 0), b[i], sum);    \
    out[i] = sum;                                                                             \
  }
KERNELS(bytes)
KERNELS(bfloats)
)";

// The header without its own includes and #pragma once.
std::string header() {
  std::ifstream file(MLXN_SOURCE_DIR "/mlxn/ops/common/dot.h");
  std::string text, line;
  while (std::getline(file, line))
    if (!line.starts_with("#pragma") && !line.starts_with("#include")) text += line + "\n";
  return text;
}

uint32_t host_bytes(uint32_t a, uint32_t b, uint32_t c) {
  for (int i = 0; i < 32; i += 8)
    c += static_cast<uint32_t>(static_cast<int>(a >> i & 255) * static_cast<int8_t>(b >> i & 255));
  return c;
}

uint32_t host_bfloats(uint32_t a, uint32_t b, uint32_t c) {
  auto high = [](uint32_t pair) { return as_float(pair & 0xffff0000u); };
  auto low = [](uint32_t pair) { return as_float(pair << 16); };
  return as_bits(std::fma(low(a), low(b), std::fma(high(a), high(b), as_float(c))));
}

struct Words {
  std::vector<uint32_t> a, b, c;
};

// All pairs of extremes first: four products of 255 * -128 or 255 * 127 leave 16 bits, and near the
// ends of 32 bits the sum wraps.
Words byte_words() {
  Words words;
  std::mt19937 random(1);
  const uint32_t bytes[] = {0, 1, 127, 128, 129, 255}, ends[] = {0, 1, 0x7fffffff, 0x80000000};
  for (const uint32_t x : bytes)
    for (const uint32_t y : bytes)
      for (const uint32_t end : ends) {
        words.a.push_back(x * 0x01010101u);
        words.b.push_back(y * 0x01010101u);
        words.c.push_back(end);
      }
  while (words.a.size() < kThreads) {
    for (auto* numbers : {&words.a, &words.b, &words.c})
      numbers->push_back(static_cast<uint32_t>(random()));
  }
  return words;
}

// Numbers between 2^-8 and 2^7, so that no result is denormal by chance, and some infinities and
// NaN.
Words bfloat_words() {
  Words words;
  std::mt19937 random(2);
  auto number = [&] {
    const uint32_t bits = static_cast<uint32_t>(random());
    if (bits % 512 == 0) return std::array<uint32_t, 3>{0x7f80, 0xff80, 0x7fc0}[bits / 512 % 3];
    return (bits & 0x807f) | (119 + (bits >> 16) % 16) << 7;
  };
  while (words.a.size() < kThreads) {
    words.a.push_back(number() << 16 | number());
    words.b.push_back(number() << 16 | number());
    words.c.push_back(number() << 16 | (static_cast<uint32_t>(random()) & 0xffff));
  }
  return words;
}

using Dot = uint32_t (*)(uint32_t, uint32_t, uint32_t);

// Result i of a kernel; only "uniform" has kThreads more. `first` is the simdgroup's first thread.
uint32_t expected(const std::string& kind, Dot dot, const Words& w, size_t i, size_t first) {
  const size_t at = i % kThreads;
  if (kind == "alone") return dot(w.a[i], w.b[i], w.c[i]);
  uint32_t sum = w.c[at];
  for (size_t k = 0; k < kSteps; ++k) {
    if (kind == "uniform") {
      sum = i == at ? dot(w.a[at], w.b[k], sum) : dot(w.a[k], w.b[at], sum);
    } else if (kind == "between") {
      sum = dot(w.a[(first + k) % kThreads], w.b[i], sum);
    } else if (k < i % kSteps && ((i ^ k) & 1) == 0) {
      sum = dot(w.a[(i + k) % kThreads], w.b[k], sum);
    }
  }
  return sum;
}

bool same(uint32_t x, uint32_t y, bool floats) {
  return x == y || (floats && std::isnan(as_float(x)) && std::isnan(as_float(y)));
}

class PackedDot : public testing::TestWithParam<std::tuple<bool, std::string, uint32_t>> {};

TEST_P(PackedDot, EqualsHostArithmetic) {
  const auto& [plain, kind, group] = GetParam();
  const std::string source =
      std::string(kPrologue) + (plain ? "#undef __MSL_PACKED_DOTS__\n" : "") + header() + kKernels;
  static std::map<bool, Library> libraries;
  Library& library = libraries.try_emplace(plain).first->second;
  if (!library.library) library = compile(source);
  ASSERT_EQ(library.error, "");
  for (const bool floats : {false, true}) {
    const Words words = floats ? bfloat_words() : byte_words();
    const Dot dot = floats ? host_bfloats : host_bytes;
    std::vector<std::vector<uint32_t>> buffers = {
        std::vector<uint32_t>(2 * kThreads), words.a, words.b, words.c, {kSteps}};
    const std::string entry = (floats ? "bfloats_" : "bytes_") + kind;
    const Launch launch = {.grid = MTL::Size(kThreads, 1, 1), .group = MTL::Size(group, 1, 1)};
    ASSERT_EQ(run(library.library.get(), entry, launch, buffers), "");
    for (size_t i = 0; i < (kind == "uniform" ? 2 : 1) * kThreads; ++i) {
      const uint32_t wanted = expected(kind, dot, words, i, i - i % group % 32);
      ASSERT_TRUE(same(buffers[0][i], wanted, floats))
          << entry << " thread " << i << ": " << std::hex << buffers[0][i] << ", expected "
          << wanted;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Msl, PackedDot,
    testing::Combine(testing::Bool(), testing::Values("alone", "uniform", "divergent", "between"),
                     testing::Values(64u, 33u)),
    [](const auto& info) {
      return std::string(std::get<0>(info.param) ? "plain_" : "builtin_") +
             std::get<1>(info.param) + "_" + std::to_string(std::get<2>(info.param));
    });

}  // namespace
