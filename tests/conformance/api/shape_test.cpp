// Dispatches of one pipeline with threadgroups of all kinds of sizes.
#include <algorithm>
#include <atomic>
#include <thread>

#include "api_test.h"

namespace mlxn_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Each thread gets its index in the threadgroup, the sum of its simdgroup's indices and, after a
// barrier, the sum of all.
constexpr const char* kSource = R"(
#include <metal_stdlib>
using namespace metal;
kernel void sums(device uint* out [[buffer(0)]], uint3 at [[thread_position_in_grid]],
                 uint3 grid [[threads_per_grid]], uint index [[thread_index_in_threadgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup uint partial[32];
  const uint sum = simd_sum(index);
  if (lane == 0) partial[simdgroup] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint total = 0;
  for (uint i = 0; i < simdgroups; ++i) total += partial[i];
  const uint place = (at.z * grid.y + at.y) * grid.x + at.x;
  out[3 * place] = index;
  out[3 * place + 1] = sum;
  out[3 * place + 2] = total;
}
)";

struct Case {
  MTL::Size grid, group;
};

class ShapeTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    sums = pipeline(kSource, "sums");
    ASSERT_TRUE(sums);
  }

  // A device whose kernels with barriers never run as coroutines.
  void use_region_device() {
    mlxn::metal::DeviceOptions options;
    options.executor = "cpu";
    options.worker_count = 2;
    options.cache = false;
    options.forced_tier = 1;
    NS::Error* error = nullptr;
    device = TransferPtr(mlxn::metal::create_device(options, &error));
    ASSERT_TRUE(device) << text(error);
    queue = TransferPtr(device->newCommandQueue());
    sums = pipeline(kSource, "sums");
    ASSERT_TRUE(sums);
  }
  uint64_t compiled() { return mlxn::metal::cache_counters(device.get()).misses; }

  static uint64_t count(const MTL::Size& size) { return size.width * size.height * size.depth; }
  Ptr<MTL::Buffer> results(const Case& one) { return buffer(count(one.grid) * 3 * 4); }

  void encode(MTL::ComputeCommandEncoder* encoder, const Case& one, MTL::Buffer* out) {
    encoder->setComputePipelineState(sums.get());
    encoder->setBuffer(out, 0, 0);
    encoder->dispatchThreads(one.grid, one.group);
  }
  std::string run(const Case& one, MTL::Buffer* out) {
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encode(encoder, one, out);
    encoder->endEncoding();
    return finish(commands);
  }
  void run_and_check(const Case& one) {
    auto out = results(one);
    ASSERT_EQ(run(one, out.get()), "");
    check(one, out.get());
  }

  static uint32_t sum_below(uint64_t n) { return static_cast<uint32_t>(n * (n - 1) / 2); }

  static void check(const Case& one, const MTL::Buffer* out) {
    const auto* values = static_cast<const uint32_t*>(const_cast<MTL::Buffer*>(out)->contents());
    const MTL::Size &grid = one.grid, &group = one.group;
    for (uint64_t z = 0, place = 0; z < grid.depth; ++z)
      for (uint64_t y = 0; y < grid.height; ++y)
        for (uint64_t x = 0; x < grid.width; ++x, ++place) {
          auto extent = [](uint64_t at, uint64_t most, uint64_t size) {
            return std::min(size, most - at / size * size);
          };
          const uint64_t w = extent(x, grid.width, group.width);
          const uint64_t h = extent(y, grid.height, group.height);
          const uint64_t d = extent(z, grid.depth, group.depth);
          const uint64_t index = (z % group.depth * h + y % group.height) * w + x % group.width;
          const uint64_t first = index / 32 * 32, last = std::min(first + 32, w * h * d);
          ASSERT_EQ(values[3 * place], index) << x << " " << y << " " << z;
          ASSERT_EQ(values[3 * place + 1], sum_below(last) - sum_below(first)) << place;
          ASSERT_EQ(values[3 * place + 2], sum_below(w * h * d)) << place;
        }
  }

  Ptr<MTL::ComputePipelineState> sums;
};

TEST_F(ShapeTest, EverySizeGivesTheRightResults) {
  const Case cases[] = {
      {{256, 1, 1}, {64, 1, 1}},   {{64, 64, 1}, {8, 8, 1}},     {{66, 2, 1}, {33, 1, 1}},
      {{1, 1, 1}, {1, 1, 1}},      {{2048, 1, 1}, {1024, 1, 1}}, {{31, 3, 1}, {31, 1, 1}},
      {{100, 1, 1}, {100, 1, 1}},  {{100, 1, 1}, {32, 1, 1}},    {{5, 5, 5}, {4, 4, 4}},
      {{9, 9, 3}, {8, 8, 2}},      {{3, 1, 1}, {256, 1, 1}},     {{40, 7, 1}, {64, 2, 1}},
      {{160, 1, 1}, {64, 1, 1}},   {{96, 2, 1}, {48, 1, 1}},     {{80, 1, 1}, {48, 1, 1}},
      {{32, 33, 2}, {32, 32, 1}},  {{256, 1, 1}, {64, 1, 1}},    {{64, 64, 1}, {8, 8, 1}},
      {{1000, 1, 1}, {1000, 1, 1}}};
  for (const Case& one : cases) {
    SCOPED_TRACE(testing::Message() << one.group.width << "x" << one.group.height << "x"
                                    << one.group.depth << " of " << one.grid.width);
    run_and_check(one);
    if (HasFatalFailure()) return;
  }
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(ShapeTest, OneCommandBufferMayHoldManySizes) {
  std::vector<Case> cases;
  std::vector<Ptr<MTL::Buffer>> outs;
  auto* commands = queue->commandBuffer();
  auto* encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
  for (NS::UInteger n : {7u, 64u, 33u, 8u, 96u, 5u, 6u, 500u}) {
    cases.push_back({{n * 3 + 1, 2, 1}, {n, 1, 1}});
    outs.push_back(results(cases.back()));
    encode(encoder, cases.back(), outs.back().get());
  }
  encoder->endEncoding();
  ASSERT_EQ(finish(commands), "");
  for (size_t i = 0; i < cases.size(); ++i) check(cases[i], outs[i].get());
}

TEST_F(ShapeTest, IndirectDispatchesToo) {
  auto counts = buffer(12);
  const uint32_t wanted[3] = {3, 2, 1};
  std::memcpy(counts->contents(), wanted, sizeof wanted);
  for (const MTL::Size& group : {MTL::Size(64, 1, 1), MTL::Size(6, 6, 1), MTL::Size(33, 1, 1)}) {
    const Case one{{group.width * 3, group.height * 2, 1}, group};
    auto out = results(one);
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(sums.get());
    encoder->setBuffer(out.get(), 0, 0);
    encoder->dispatchThreadgroups(counts.get(), 0, group);
    encoder->endEncoding();
    ASSERT_EQ(finish(commands), "");
    check(one, out.get());
  }
}

TEST_F(ShapeTest, CommandBuffersThatDoNotRetainKeepTheCode) {
  const Case one{{99, 1, 1}, {33, 1, 1}};
  auto out = results(one);
  auto* commands = queue->commandBufferWithUnretainedReferences();
  auto* encoder = commands->computeCommandEncoder();
  encode(encoder, one, out.get());
  encoder->endEncoding();
  ASSERT_EQ(finish(commands), "");
  check(one, out.get());
}

TEST_F(ShapeTest, ThreadsMayEncodeNewSizesAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> waiting{0};
  constexpr int kThreads = 4;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      auto pool = TransferPtr(NS::AutoreleasePool::alloc()->init());
      auto own = TransferPtr(device->newCommandQueue());
      ++waiting;
      while (waiting < kThreads) std::this_thread::yield();
      for (NS::UInteger n : {33u, 34u, 35u, 36u, 37u, 38u}) {
        const Case one{{n * 2, 1, 1}, {n, 1, 1}};
        auto out = results(one);
        auto* commands = own->commandBuffer();
        auto* encoder = commands->computeCommandEncoder();
        encode(encoder, one, out.get());
        encoder->endEncoding();
        EXPECT_EQ(finish(commands), "");
        check(one, out.get());
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

// Which code is compiled, on a device whose kernels with barriers are made for certain sizes.
class ShapeCodeTest : public ShapeTest {
 protected:
  void SetUp() override {
    ShapeTest::SetUp();
    use_region_device();
  }
};

TEST_F(ShapeCodeTest, SizesAreCompiledWhenTheyAreFirstEncoded) {
  const uint64_t before = compiled();
  for (NS::UInteger n : {32u, 64u, 1024u}) run_and_check({{n * 2, 1, 1}, {n, 1, 1}});
  EXPECT_EQ(compiled(), before);
  for (int i = 0; i < 2; ++i) {
    run_and_check({{64, 64, 1}, {8, 8, 1}});
    EXPECT_EQ(compiled(), before + 1);
  }
  for (NS::UInteger n : {33u, 34u, 35u}) run_and_check({{n, 2, 1}, {n, 1, 1}});
  EXPECT_EQ(compiled(), before + 4);
  for (NS::UInteger n : {36u, 37u, 38u}) run_and_check({{n, 2, 1}, {n, 1, 1}});
  EXPECT_EQ(compiled(), before + 5);  // one for all further sizes
  run_and_check({{65, 65, 1}, {8, 8, 1}});
  EXPECT_EQ(compiled(), before + 5);
}

TEST_F(ShapeCodeTest, EdgesOfAllGridsShareOneCode) {
  const uint64_t before = compiled();
  run_and_check({{96, 1, 1}, {64, 1, 1}});  // the last one has 32 threads
  EXPECT_EQ(compiled(), before);
  for (NS::UInteger n : {65u, 100u, 127u, 1u}) run_and_check({{n, 1, 1}, {64, 1, 1}});
  EXPECT_EQ(compiled(), before + 1);
}

TEST_F(ShapeCodeTest, RequiredSizesAreCompiledAtOnce) {
  auto descriptor = TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
  auto lib = library(kSource);
  auto function = TransferPtr(lib->newFunction(string("sums")));
  descriptor->setComputeFunction(function.get());
  descriptor->setRequiredThreadsPerThreadgroup(MTL::Size(6, 6, 1));
  const uint64_t before = compiled();
  NS::Error* error = nullptr;
  sums = TransferPtr(
      device->newComputePipelineState(descriptor.get(), MTL::PipelineOptionNone, nullptr, &error));
  ASSERT_TRUE(sums) << text(error);
  EXPECT_EQ(compiled(), before + 1);
  run_and_check({{36, 36, 1}, {6, 6, 1}});
  EXPECT_EQ(compiled(), before + 1);
}

TEST_F(ShapeCodeTest, ThreadsThatEncodeASizeAtOnceCompileItOnce) {
  const uint64_t before = compiled();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      auto pool = TransferPtr(NS::AutoreleasePool::alloc()->init());
      auto own = TransferPtr(device->newCommandQueue());
      const Case one{{82, 1, 1}, {41, 1, 1}};
      auto out = results(one);
      auto* commands = own->commandBuffer();
      auto* encoder = commands->computeCommandEncoder();
      encode(encoder, one, out.get());
      encoder->endEncoding();
      EXPECT_EQ(finish(commands), "");
      check(one, out.get());
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(compiled(), before + 1);
}

TEST_F(ShapeCodeTest, CodeThatCannotBeLoadedFailsTheCommandBuffer) {
  const Case one{{33, 1, 1}, {33, 1, 1}};
  auto out = results(one);
  mlxn::metal::inject_fault(device.get(), mlxn::metal::Fault::kPipeline);
  EXPECT_THAT(run(one, out.get()), HasSubstr("injected failure of a pipeline"));
  EXPECT_THAT(messages().back(), HasSubstr("dispatchThreads: kernel 'sums': injected failure"));
  run_and_check(one);
}

}  // namespace
}  // namespace mlxn_test
