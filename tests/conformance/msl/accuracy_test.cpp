// Accuracy of the float functions over the whole range of floats: every 8191st bit pattern, against
// the host's double precision. Infinities, NaNs and denormals are among them.
#include <gtest/gtest.h>

#include "tests/conformance/msl/expression_case.h"
#include "tests/conformance/msl/gpu.h"
#include "tests/conformance/msl/numbers.h"

namespace {

using namespace msl_test;

constexpr uint32_t kStride = 8191;  // a prime, so that all low bits occur
constexpr size_t kSamples = (uint64_t{1} << 32) / kStride;

struct Function {
  const char* name;
  double (*host)(double);
  double bound;  // in units of the last place
};
void PrintTo(const Function& f, std::ostream* out) {
  *out << f.name;
}

const Function kFunctions[] = {
    {"acos", std::acos, 1},   {"acosh", std::acosh, 1}, {"asin", std::asin, 1},
    {"asinh", std::asinh, 1}, {"atan", std::atan, 1},   {"atanh", std::atanh, 1},
    {"cos", std::cos, 2},     {"cosh", std::cosh, 1},   {"exp", std::exp, 2},
    {"exp2", std::exp2, 2},   {"log", std::log, 2},     {"log10", std::log10, 2},
    {"log2", std::log2, 2},   {"sin", std::sin, 2},     {"sinh", std::sinh, 1},
    {"sqrt", std::sqrt, 0.5}, {"tan", std::tan, 4},     {"tanh", std::tanh, 2},
    {"ceil", std::ceil, 0},   {"floor", std::floor, 0}, {"rint", std::rint, 0},
    {"round", std::round, 0}, {"trunc", std::trunc, 0},
};

Library& library() {
  static Library library = [] {
    std::string source = kPrologue;
    for (const Function& f : kFunctions) {
      source +=
          "kernel void k_" + std::string(f.name) +
          "(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = " + f.name +
          "(as_type<float>(i * 8191u)); }\n";
    }
    return compile(source);
  }();
  return library;
}

class Accuracy : public testing::TestWithParam<Function> {};

TEST_P(Accuracy, WholeRange) {
  const Function& f = GetParam();
  ASSERT_EQ(library().error, "");
  std::vector<std::vector<uint32_t>> buffers(1, std::vector<uint32_t>(kSamples));
  Launch launch;
  launch.grid = MTL::Size(kSamples, 1, 1);
  launch.group = MTL::Size(256, 1, 1);
  ASSERT_EQ(run(library().library.get(), std::string("k_") + f.name, launch, buffers), "");
  double worst = 0;
  float worst_at = 0;
  for (size_t i = 0; i < kSamples; ++i) {
    const float x = as_float(static_cast<uint32_t>(i) * kStride);
    const double distance = distance_ulp(as_float(buffers[0][i]), f.host(x), Type::kFloat);
    if (distance > worst) {
      worst = distance;
      worst_at = x;
    }
  }
  RecordProperty("worst_ulp", std::to_string(worst));
  EXPECT_LE(worst, f.bound) << "at " << worst_at;
}
INSTANTIATE_TEST_SUITE_P(Msl, Accuracy, testing::ValuesIn(kFunctions), CaseName());

// What Fourier transforms multiply by: within a turn, the error stays below the last place of 1.
TEST(SineAndCosine, WithinATurn) {
  constexpr size_t kCount = 1 << 20;
  for (const char* space : {"", "precise::", "fast::"}) {
    const std::string name = space;
    const Library library =
        compile(kPrologue +
                std::string("kernel void k(device float2* x [[buffer(0)]], uint i "
                            "[[thread_position_in_grid]]) { float a = (float(i) / 524288.0f - "
                            "1.0f) * 3.14159274f; x[i] = float2(") +
                name + "cos(a), " + name + "sin(a)); }\n");
    ASSERT_EQ(library.error, "");
    std::vector<std::vector<uint32_t>> buffers(1, std::vector<uint32_t>(2 * kCount));
    Launch launch;
    launch.grid = MTL::Size(kCount, 1, 1);
    launch.group = MTL::Size(256, 1, 1);
    ASSERT_EQ(run(library.library.get(), "k", launch, buffers), "");
    double worst = 0;
    for (size_t i = 0; i < kCount; ++i) {
      const double a = (static_cast<float>(i) / 524288.0f - 1.0f) * 3.14159274f;
      worst = std::max({worst, std::abs(as_float(buffers[0][2 * i]) - std::cos(a)),
                        std::abs(as_float(buffers[0][2 * i + 1]) - std::sin(a))});
    }
    EXPECT_LE(worst, 0x1p-24) << name;
  }
}

}  // namespace
