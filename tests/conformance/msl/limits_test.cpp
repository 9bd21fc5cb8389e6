// What a kernel may take of the machine, and that compiling one is quiet.
#include <gtest/gtest.h>

#include "tests/conformance/msl/gpu.h"

namespace {

using namespace msl_test;

// Runs a kernel with a private array of `words` that no optimisation can do without.
std::string run_with_array(const std::string& words, std::vector<uint32_t>& result,
                           const char* barrier = "") {
  const Library library =
      compile(kPrologue +
              std::string("kernel void hungry(device uint* out [[buffer(0)]], uint i "
                          "[[thread_position_in_grid]]) { uint a[") +
              words + "]; uint n = out[0] | " + words +
              "; for (uint k = 0; k < n; ++k) a[(k * 7919u + i) % " + words + "] = k; " + barrier +
              " out[i] = a[out[i] % " + words + "] + a[(i * 31) % " + words + "]; }\n");
  if (!library.library) return library.error;
  std::vector<std::vector<uint32_t>> buffers(1, std::vector<uint32_t>(64));
  Launch launch;
  launch.grid = launch.group = MTL::Size(64, 1, 1);
  const std::string error = run(library.library.get(), "hungry", launch, buffers);
  result = buffers[0];
  return error;
}

TEST(PrivateMemory, TooMuchIsRefused) {
  for (const char* barrier : {"", "threadgroup_barrier(mem_flags::mem_none);"}) {
    std::vector<uint32_t> result;
    const std::string error = run_with_array("4194304", result, barrier);
    for (const char* part : {"hungry", "16777216", "65536"})
      EXPECT_NE(error.find(part), std::string::npos) << error;
  }
}

TEST(PrivateMemory, AsMuchAsAllowedRuns) {
  for (const char* barrier : {"", "threadgroup_barrier(mem_flags::mem_none);"}) {
    std::vector<uint32_t> result;
    ASSERT_EQ(run_with_array("16381", result, barrier), "");  // a prime: each element is written
    uint32_t first = 0;
    for (uint32_t k = 0; k < 16381; ++k)
      if (k * 7919u % 16381 == 0) first = k;
    EXPECT_EQ(result[0], 2 * first);
  }
}

TEST(PrivateMemory, ArrayOfUnknownSizeIsRefused) {
  const Library library = compile(
      kPrologue + std::string("kernel void k(device uint* out [[buffer(0)]], uint i "
                              "[[thread_position_in_grid]]) { uint a[out[1]]; for (uint k "
                              "= 0; k < out[1]; ++k) a[k] = out[k]; out[i] = a[out[i]]; }\n"));
  std::vector<std::vector<uint32_t>> buffers(1, std::vector<uint32_t>(64));
  const std::string error =
      library.library ? run(library.library.get(), "k", Launch(), buffers) : library.error;
  EXPECT_NE(error, "");
}

// Hints the compiler cannot follow are its own business.
TEST(Quiet, LoopHints) {
  testing::internal::CaptureStderr();
  const Library library = compile(
      kPrologue +
      std::string("kernel void a(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]])"
                  " { float s = 0;\n#pragma unroll\nfor (uint k = 0; k < uint(x[0]); ++k) { s += "
                  "x[k]; if (s > 100) break; }\n#pragma clang loop vectorize(enable)\nfor (uint k "
                  "= 0; k < 100; ++k) s = x[uint(s) & 63];\nx[i] = s; }\n"));
  std::vector<std::vector<uint32_t>> buffers(1, std::vector<uint32_t>(64));
  const std::string error =
      library.library ? run(library.library.get(), "a", Launch(), buffers) : library.error;
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(error, "");
}

}  // namespace
