// #pragma METAL fp: contraction and math mode for a part of the source.
#include <gtest/gtest.h>

#include "tests/conformance/msl/gpu.h"

namespace {

using namespace msl_test;

// (1 + e)(1 - e) - 1 is 0 with two roundings and -e^2 with one.
constexpr float kE = 0x1p-13f;
constexpr const char* kBody = "float r = x[0] * x[1] - 1.0f; out[0] = r; }\n";

// What kernel k of a source writes to buffer 0 for two numbers in buffer 1; NaN when it does not
// run.
std::vector<float> run_k(const std::string& text, bool fast, float x0, float x1) {
  const Library library = compile(kPrologue + text, Options{.fast_math = fast, .macros = {}});
  EXPECT_EQ(library.error, "");
  std::vector<float> results(64, NAN);
  if (!library.library) return results;
  std::vector<std::vector<uint32_t>> buffers(2);
  buffers[0].resize(results.size());
  buffers[1] = {as_bits(x0), as_bits(x1)};
  Launch launch;
  launch.grid = launch.group = MTL::Size(1, 1, 1);
  const std::string error = run(library.library.get(), "k", launch, buffers);
  EXPECT_EQ(error, "");
  for (size_t i = 0; error.empty() && i < results.size(); ++i) results[i] = as_float(buffers[0][i]);
  return results;
}

// The value of the expression with `before` in front of the kernel and `inside` at its start.
float evaluate(const std::string& before, const std::string& inside, bool fast) {
  return run_k(before +
                   "\nkernel void k(device float* out [[buffer(0)]], const "
                   "device float* x [[buffer(1)]]) {\n" +
                   inside + "\n" + kBody,
               fast, 1 + kE, 1 - kE)[0];
}

TEST(Pragma, Contraction) {
  const float once = -kE * kE, twice = 0;
  for (bool fast : {false, true}) {
    EXPECT_EQ(evaluate("", "", fast), once);
    EXPECT_EQ(evaluate("#pragma METAL fp contract(off)", "", fast), twice) << fast;
    EXPECT_EQ(evaluate("", "#pragma METAL fp contract(off)", fast), twice) << fast;
    EXPECT_EQ(evaluate("_Pragma(\"METAL fp contract(off)\")", "", fast), twice) << fast;
    EXPECT_EQ(evaluate("#pragma METAL fp contract(off)", "#pragma METAL fp contract(on)", fast),
              once);
    EXPECT_EQ(evaluate("#pragma METAL fp contract(off)", "#pragma METAL fp contract(fast)", fast),
              once);
  }
}

// The same in 16 bits, with a product that these types cannot hold; twice rounded, all are 0.
TEST(Pragma, ContractionIn16Bits) {
  struct {
    const char* type;
    float e;
  } cases[] = {{"half", 0x1p-6f}, {"bfloat", 0x1p-5f}};
  for (const auto& [type, e] : cases)
    for (bool fast : {false, true})
      for (bool contracts : {true, false}) {
        const std::string text = std::string(contracts ? "" : "#pragma METAL fp contract(off)\n") +
                                 "kernel void k(device float* out [[buffer(0)]], const device "
                                 "float* x [[buffer(1)]]) { T a = T(x[0]), b = T(x[1]), c = T(1); "
                                 "out[0] = a * b - c; out[1] = c - a * b; out[2] = -c + a * b; }\n";
        const std::vector<float> results =
            run_k("typedef " + std::string(type) + " T;\n" + text, fast, 1 + e, 1 - e);
        const float expected = contracts ? -e * e : 0;
        const float signs[] = {1, -1, 1};
        for (int i = 0; i < 3; ++i)
          EXPECT_EQ(results[i], signs[i] * expected) << type << " " << fast << " " << i;
      }
}

// A block of another function has no say.
TEST(Pragma, EndsWithItsBlock) {
  EXPECT_EQ(evaluate("float f(float a, float b) {\n#pragma METAL fp contract(off)\nreturn a * b - "
                     "1.0f; }",
                     "", false),
            -kE * kE);
}

TEST(Pragma, MathMode) {
  // Reassociation would give 1; in safe mode the sum is rounded first.
  const std::string text =
      "float f(float a, float b) { return (a + b) - a; }\nkernel void k(device float* out "
      "[[buffer(0)]], const device float* x [[buffer(1)]]) { out[0] = f(x[0], x[1]); }\n";
  auto value = [&](const char* pragma, bool fast) {
    return run_k(std::string(pragma) + "\n" + text, fast, 1e8f, 1.0f)[0];
  };
  EXPECT_EQ(value("", false), 0);
  EXPECT_EQ(value("#pragma METAL fp math_mode(safe)", true), 0);
  EXPECT_EQ(value("#pragma METAL fp math_mode(safe)", false), 0);
}

TEST(Pragma, UnknownOptionIsRefused) {
  for (const char* option : {"contract(sometimes)", "math_mode(quick)", "contract", "speed(9)"}) {
    const Library library =
        compile(kPrologue + std::string("#pragma METAL fp ") + option +
                "\nkernel void k(device float* x [[buffer(0)]]) { x[0] = 1; }\n");
    EXPECT_FALSE(library.library) << option;
    EXPECT_NE(library.error.find(option), std::string::npos) << library.error;
    EXPECT_NE(library.error.find("program_source:3:"), std::string::npos) << library.error;
  }
}

}  // namespace
