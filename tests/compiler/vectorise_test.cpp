// Loops over threads must come out as vector code, whatever the kernel computes. What is looked
// for is the vectoriser's own block name, in kernels small enough to have no other loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metal/msl/interface.h"
#include "metal/msl/module.h"

namespace mlxn::msl {
namespace {

using testing::HasSubstr;
using testing::Not;

// LLVM IR of kernel `k`.
std::string ir_of(const std::string& source, const std::string& cpu) {
  auto found = compiler();
  EXPECT_TRUE(found) << found.error().message();
  auto library =
      (*found)->create_library("#include <metal_stdlib>\nusing namespace metal;\n" + source, {});
  EXPECT_TRUE(library) << library.error().message();
  if (!library) return "";
  CompileRequest wanted;
  wanted.entry_points = {"k"};
  wanted.target.cpu = cpu;
  wanted.emit = Emit::kLlvmIr;
  auto image = (*library)->compile(wanted);
  EXPECT_TRUE(image) << image.error().message();
  return image ? std::string(image->code.begin(), image->code.end()) : "";
}

// out[i] = expression of x = a[i] and y = b[i], behind the usual guard.
std::string elementwise(const std::string& type, const std::string& expression) {
  return "kernel void k(device const " + type + "* a [[buffer(0)]], device const " + type +
         "* b [[buffer(1)]], device " + type +
         "* out [[buffer(2)]], constant uint& n [[buffer(3)]],"
         " uint i [[thread_position_in_grid]]) { if (i >= n) return; " +
         type + " x = a[i], y = b[i]; out[i] = " + type + "(" + expression + "); }";
}

const char* const kMachines[] = {"x86-64-v3", "x86-64-v4", "znver4"};

class Vectorise : public testing::TestWithParam<const char*> {};

TEST_P(Vectorise, MathInEveryType) {
  for (const char* cpu : kMachines)
    for (const char* type : {"float", "half", "bfloat"}) {
      SCOPED_TRACE(std::string(GetParam()) + " in " + type + " for " + cpu);
      std::string ir = ir_of(elementwise(type, GetParam()), cpu);
      EXPECT_THAT(ir, HasSubstr("vector.body"));
      EXPECT_THAT(ir, Not(testing::ContainsRegex("call [^@]*@__")));  // library functions
    }
}

INSTANTIATE_TEST_SUITE_P(Functions, Vectorise,
                         testing::Values("precise::exp(x)", "fast::exp(x)", "precise::log(x)",
                                         "precise::sin(x)", "fast::sin(x)", "precise::cos(x)",
                                         "precise::tanh(x)", "precise::pow(x, y)",
                                         "fast::pow(x, y)", "rsqrt(x)", "sqrt(x)", "exp2(x)",
                                         "log2(x)", "fmod(x, y)", "floor(x)", "int(x)",
                                         "x / (1 + exp(-x))", "x > y ? x : -y", "x"));

TEST(VectoriseControlFlow, BranchesAndSwitches) {
  for (const char* cpu : kMachines) {
    SCOPED_TRACE(cpu);
    EXPECT_THAT(ir_of(R"(kernel void k(device const float* a [[buffer(0)]],
      device const int* mode [[buffer(1)]], device float* out [[buffer(2)]],
      uint i [[thread_position_in_grid]]) {
        float x = a[i];
        switch (mode[i]) {
          case 0: x = x * x; break;
          case 1: x = x + 2; break;
          case 5: x = x * 3 - 1; break;
          default: x = -x;
        }
        out[i] = x;
      })",
                      cpu),
                HasSubstr("vector.body"));
  }
}

TEST(VectoriseControlFlow, GuardsInTwoDimensions) {
  for (const char* cpu : kMachines) {
    SCOPED_TRACE(cpu);
    EXPECT_THAT(ir_of(R"(kernel void k(device const half* a [[buffer(0)]],
      device half* out [[buffer(1)]], constant uint2& size [[buffer(2)]],
      uint2 at [[thread_position_in_grid]]) {
        if (at.x >= size.x || at.y >= size.y) return;
        out[at.y * size.x + at.x] = a[at.y * size.x + at.x] * 2.0h;
      })",
                      cpu),
                HasSubstr("vector.body"));
  }
}

TEST(VectoriseControlFlow, VectorsPassedToFunctions) {
  for (const char* cpu : kMachines) {
    SCOPED_TRACE(cpu);
    EXPECT_THAT(ir_of(R"(static float4 square(float4 v) { return v * v + 1.0f; }
      kernel void k(device const float4* a [[buffer(0)]], device float4* out [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) { out[i] = square(a[i]); })",
                      cpu),
                HasSubstr("vector.body"));
  }
}

}  // namespace
}  // namespace mlxn::msl
