// The oracle's two thread orders: a race within a threadgroup shows as a difference, anything else
// gives the same bytes.
#include "device_run.h"

namespace kernel_test {
namespace {

struct Orders {
  std::vector<uint32_t> ascending, descending;
};

Orders run_in_both(const std::string& body, uint32_t group) {
  Program program;
  program.source =
      "#include <metal_stdlib>\nusing namespace metal;\n"
      "kernel void k(device uint* out, uint i [[thread_position_in_threadgroup]],\n"
      "              uint n [[threads_per_threadgroup]], uint sg "
      "[[simdgroup_index_in_threadgroup]])"
      " {\n  threadgroup uint shared[1024];\n" +
      body + "}\n";
  program.kernel = "k";
  program.grid = program.group = MTL::Size(group, 1, 1);
  program.buffers = {bytes_of(std::vector<uint32_t>(group, 0))};
  Program reverse = program;
  execute({.workers = 1, .tier = 3}, program);
  execute({.workers = 1, .tier = 3, .reverse_threads = true}, reverse);
  return {values_of<uint32_t>(program.buffers[0]), values_of<uint32_t>(reverse.buffers[0])};
}

class ThreadOrderTest : public testing::TestWithParam<uint32_t> {};

TEST_P(ThreadOrderTest, TheLastWriterDependsOnIt) {
  const uint32_t n = GetParam();
  const Orders start = run_in_both(
      "  shared[0] = i;\n  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
      "  out[i] = shared[0];\n",
      n);
  EXPECT_EQ(start.ascending, std::vector<uint32_t>(n, n - 1));
  EXPECT_EQ(start.descending, std::vector<uint32_t>(n, 0));
}

TEST_P(ThreadOrderTest, AlsoBehindSimdgroupOperationsAndBarriers) {
  const uint32_t n = GetParam();
  // Lanes behind an operation, then simdgroups behind a barrier.
  const Orders lanes = run_in_both(
      "  shared[sg] = 0;\n  uint sum = simd_sum(1u);\n  shared[sg] = i * sum;\n"
      "  threadgroup_barrier(mem_flags::mem_threadgroup);\n  out[i] = shared[sg] / sum % 32;\n",
      n);
  EXPECT_EQ(lanes.ascending[0], std::min(n, 32u) - 1);
  EXPECT_EQ(lanes.descending[0], 0u);
  const Orders simdgroups = run_in_both(
      "  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
      "  if (simd_is_first()) shared[0] = sg;\n"
      "  threadgroup_barrier(mem_flags::mem_threadgroup);\n  out[i] = shared[0];\n",
      n);
  EXPECT_EQ(simdgroups.ascending, std::vector<uint32_t>(n, (n - 1) / 32));
  EXPECT_EQ(simdgroups.descending, std::vector<uint32_t>(n, 0));
}

TEST_P(ThreadOrderTest, RaceFreeKernelsDoNotDependOnIt) {
  const Orders results = run_in_both(
      "  shared[i] = i * 7 + 1;\n  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
      "  uint other = shared[(i + 33) % n];\n  if (i % 3 == 0) other += simd_sum(other);\n"
      "  out[i] = simd_max(other) + simd_prefix_inclusive_sum(other);\n",
      GetParam());
  EXPECT_EQ(results.ascending, results.descending);
  EXPECT_NE(results.ascending[0], 0u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadOrderTest, testing::Values(2, 31, 32, 33, 100, 1024));

}  // namespace
}  // namespace kernel_test
