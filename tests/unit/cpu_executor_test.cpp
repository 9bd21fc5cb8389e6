#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "metal/exec/cpu/cpu_target.h"
#include "tests/unit/cpu_fixture.h"

namespace mlxn::cpu {
namespace {

using testing::Each;
using testing::HasSubstr;

TEST_F(CpuTest, DescribesItself) {
  EXPECT_EQ(executor_->info().executor, "cpu");
  EXPECT_EQ(executor_->info().worker_count, 2u);
  EXPECT_THAT(executor_->info().target.cpu, testing::StartsWith("x86-64"));
  EXPECT_FALSE(executor_->info().name.empty());
  EXPECT_GT(executor_->info().total_memory, 0u);
}

TEST_F(CpuTest, MemoryIsZeroedAlignedAndCounted) {
  const uint64_t before = executor_->allocated_bytes();
  for (uint64_t size : {1ull, 100ull, 65535ull, 65536ull, 5ull << 20}) {
    auto memory = allocate(size);
    EXPECT_EQ(memory->size, size);
    EXPECT_EQ(memory->device_address % 256, 0u);
    EXPECT_THAT(view<uint8_t>(memory), Each(0)) << size;
    EXPECT_EQ(executor_->allocated_bytes(), before + size);
  }
  EXPECT_EQ(executor_->allocated_bytes(), before);
}

TEST_F(CpuTest, MemoryOutlivesTheExecutor) {
  auto memory = allocate(100);
  executor_.reset();
  view<uint8_t>(memory)[99] = 1;
}

TEST_F(CpuTest, ImpossibleAllocationsAreReported) {
  auto memory = executor_->allocate(1ull << 60, rt::Storage::kPrivate);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(memory.error().message(), HasSubstr("1152921504606846976 bytes"));
  EXPECT_EQ(executor_->allocate(0, rt::Storage::kShared).error().code(),
            ErrorCode::kInvalidArgument);
  EXPECT_FALSE(executor_->wrap(nullptr, 16));
}

TEST_F(CpuTest, EveryThreadOfARaggedGridRunsOnce) {
  auto pipeline = load_loop("increment");
  const rt::Size3 grids[] = {{1, 1, 1}, {1000, 1, 1}, {33, 17, 5}, {64, 64, 1}, {7, 1, 300}};
  const rt::Size3 groups[] = {{1, 1, 1}, {32, 1, 1}, {31, 1, 1}, {8, 8, 2}, {1024, 1, 1}};
  for (const rt::Size3& grid : grids) {
    for (const rt::Size3& group : groups) {
      auto memory = allocate(grid.x * grid.y * grid.z * 4);
      ASSERT_TRUE(run({dispatch(pipeline, grid, group, {memory})}));
      ASSERT_THAT(view<uint32_t>(memory), Each(1u));
    }
  }
}

TEST_F(CpuTest, ThreadgroupsThatOnlySeeTheGridRunTogether) {
  msl::Image image =
      make_image(*executor_, "loops", "increment_and_count", msl::Tier::kWorkItemLoop);
  image.kernels[0].grid_only = true;
  auto pipeline = load_image(*executor_, image, "increment_and_count");
  ASSERT_TRUE(pipeline) << pipeline.error().to_string();
  struct Case {
    rt::Size3 grid, group;
  };
  const Case cases[] = {{{10000, 1, 1}, {32, 1, 1}}, {{1000, 3, 2}, {7, 2, 1}},
                        {{64, 64, 1}, {8, 8, 1}},    {{2000, 1, 1}, {1024, 1, 1}},
                        {{5, 1, 1}, {600, 1, 1}},    {{4096, 1, 1}, {513, 1, 1}}};
  for (const Case& one : cases) {
    const uint64_t threads = one.grid.x * one.grid.y * one.grid.z;
    auto memory = allocate((threads + 2) * 4);
    ASSERT_TRUE(run({dispatch(*pipeline, one.grid, one.group, {memory})}));
    auto values = view<uint32_t>(memory);
    ASSERT_THAT(values.first(threads), Each(1u));
    EXPECT_LE(values[threads + 1], 1024u);
    auto count = [](uint64_t n, uint64_t size) { return (n + size - 1) / size; };
    const uint64_t groups = count(one.grid.x, one.group.x) * count(one.grid.y, one.group.y) *
                            count(one.grid.z, one.group.z);
    if (one.group.x <= 512 && one.grid.x > one.group.x) {
      EXPECT_LT(values[threads], groups);
    } else {
      EXPECT_EQ(values[threads], groups);
    }
  }
}

TEST_F(CpuTest, ZeroSizedGridsDoNothing) {
  auto pipeline = load_loop("increment");
  auto memory = allocate(64);
  ASSERT_TRUE(run({dispatch(pipeline, {0, 1, 1}, {32, 1, 1}, {memory}),
                   dispatch(pipeline, {1, 0, 5}, {32, 1, 1}, {memory})}));
  EXPECT_THAT(view<uint32_t>(memory), Each(0u));
  ASSERT_TRUE(run({}));
}

TEST_F(CpuTest, ObjectsMayHoldDataTablesAndCalls) {
  auto memory = allocate(100 * sizeof(float));
  ASSERT_TRUE(run({dispatch(load_loop("mixed"), {100, 1, 1}, {9, 1, 1}, {memory})}));
  const int choices[] = {5, 11, -3, 0, 99, 0, 0};
  for (unsigned i = 0; i < 100; ++i) {
    float choice = static_cast<float>(choices[i % 7]);
    if (i % 7 == 3) choice = static_cast<float>(8 + i);
    if (i % 7 == 5) choice = static_cast<float>(i * i);
    const float expected = static_cast<float>(1 << i % 8) * 3 + choice +
                           sinf(static_cast<float>(i)) + fmodf(static_cast<float>(i), 3);
    EXPECT_NEAR(view<float>(memory)[i], expected, 1e-3f) << i;
  }
}

TEST_F(CpuTest, ThreadgroupMemoryIsGiven) {
  auto memory = allocate(128 * sizeof(float));
  TestDispatch command = dispatch(load_loop("reverse"), {128, 1, 1}, {64, 1, 1}, {memory});
  command.threadgroup_memory = {{3, 64 * sizeof(float)}};
  ASSERT_TRUE(run({command}));
  EXPECT_EQ(view<float>(memory)[1], 62 * 1000 + 1);
  EXPECT_EQ(view<float>(memory)[127], 63);
}

TEST_F(CpuTest, BarriersOrderCommands) {
  auto pipeline = load_loop("mirror");
  constexpr uint64_t kCount = 10000;
  std::vector<std::shared_ptr<rt::Memory>> buffers;
  for (int i = 0; i < 20; ++i) buffers.push_back(allocate(kCount * sizeof(float)));
  for (float& value : view<float>(buffers[0])) value = 1;
  std::vector<TestCommand> commands;
  for (int i = 0; i + 1 < 20; ++i) {
    commands.push_back(
        dispatch(pipeline, {kCount, 1, 1}, {64, 1, 1}, {buffers[i], buffers[i + 1]}));
    commands.push_back(rt::Barrier{});
  }
  ASSERT_TRUE(run(commands));
  EXPECT_THAT(view<float>(buffers[19]), Each(std::ldexp(1.0f, 19)));
}

// Phases that all workers share, that one runs alone, and that have less pieces than workers; with
// workers that sleep as soon as there is nothing to do, and with many more of them than cores.
TEST_F(CpuTest, PhasesFollowEachOtherOnAnyNumberOfWorkers) {
  constexpr uint64_t kCount = 4096;
  constexpr int kPhases = 120, kRounds = 10;
  for (const uint32_t spin_us : {0u, 50u}) {
    for (const uint32_t workers : {1u, 2u, 5u, 64u}) {
      CpuOptions options;
      options.workers = workers;
      options.spin_us = spin_us;
      executor_ = create_executor(options);
      EXPECT_EQ(executor_->info().worker_count, workers);
      const auto mirror = load_loop("mirror"), increment = load_loop("increment");
      const auto a = allocate(kCount * 4), b = allocate(kCount * 4), few = allocate(3 * 4);
      std::vector<TestCommand> commands;
      for (int i = 0; i < kPhases; i += 2) {
        for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
          commands.push_back(dispatch(mirror, {kCount, 1, 1}, {16, 1, 1}, {from, to}));
          commands.push_back(rt::Barrier{});
          commands.push_back(dispatch(increment, {3, 1, 1}, {1, 1, 1}, {few}));
          commands.push_back(rt::Barrier{});
        }
      }
      for (int round = 0; round < kRounds; ++round) {
        std::ranges::fill(view<float>(a), 1.0f);
        std::ranges::fill(view<uint32_t>(few), 0u);
        ASSERT_TRUE(run(commands));
        ASSERT_THAT(view<float>(a), Each(std::ldexp(1.0f, kPhases))) << workers << " workers";
        ASSERT_THAT(view<uint32_t>(few), Each(uint32_t{kPhases})) << workers << " workers";
      }
    }
  }
}

TEST_F(CpuTest, IndirectCountsAreReadWhenTheDispatchStarts) {
  auto counts = allocate(64);
  auto memory = allocate(100 * 4);
  auto source = allocate(12);
  const uint32_t wanted[3] = {10, 1, 1};
  std::memcpy(source->host, wanted, sizeof(wanted));
  TestDispatch command = dispatch(load_loop("increment"), {1, 1, 1}, {10, 1, 1}, {memory});
  command.indirect = counts.get();
  command.indirect_offset = 16;
  ASSERT_TRUE(run({copy(source, counts, 0, 16, 12), rt::Barrier{}, command}));
  EXPECT_THAT(view<uint32_t>(memory), Each(1u));
  command.indirect_offset = 60;
  EXPECT_THAT(run({command}).error().message(), HasSubstr("indirect counts at byte 60"));
}

TEST_F(CpuTest, CopiesAndFills) {
  constexpr uint64_t kSize = (5 << 20) + 7;
  auto a = allocate(kSize), b = allocate(kSize);
  ASSERT_TRUE(run({fill(a, 3, kSize - 3, 0x5a), rt::Barrier{}, copy(a, b, 0, 0, kSize),
                   rt::Barrier{}, fill(a, 0, 0, 1)}));
  EXPECT_EQ(view<uint8_t>(b)[2], 0);
  EXPECT_EQ(view<uint8_t>(b)[3], 0x5a);
  EXPECT_EQ(view<uint8_t>(b)[kSize - 1], 0x5a);
  // Overlapping ranges of one buffer move as a whole.
  for (uint64_t i = 0; i < kSize; ++i) view<uint8_t>(a)[i] = static_cast<uint8_t>(i * 7);
  ASSERT_TRUE(run({copy(a, a, 0, 100, kSize - 100)}));
  EXPECT_EQ(view<uint8_t>(a)[kSize - 1], static_cast<uint8_t>((kSize - 101) * 7));
  EXPECT_THAT(run({copy(a, b, 1, 0, kSize)}).error().message(), HasSubstr("command 0, copy"));
  EXPECT_FALSE(run({fill(a, ~0ull, 2, 0)}));
}

TEST_F(CpuTest, TimestampsLieBetweenCommands) {
  auto stamps = allocate(16);
  auto memory = allocate(4096);
  ASSERT_TRUE(run({timestamp(stamps, 0), fill(memory, 0, 4096, 1), timestamp(stamps, 8)}));
  EXPECT_GT(view<uint64_t>(stamps)[0], 0u);
  EXPECT_LE(view<uint64_t>(stamps)[0], view<uint64_t>(stamps)[1]);
  EXPECT_FALSE(run({timestamp(stamps, 9)}));
}

TEST_F(CpuTest, BadDispatchesAreErrorsThatNameTheCommand) {
  auto pipeline = load_loop("increment");
  auto memory = allocate(64);
  auto message = [&](TestDispatch command) {
    Status status = run({fill(memory, 0, 1, 1), std::move(command)});
    return status ? std::string("no error") : status.error().message();
  };
  EXPECT_THAT(message(dispatch(pipeline, {8, 1, 1}, {0, 1, 1}, {memory})), HasSubstr("0 x 1 x 1"));
  EXPECT_THAT(
      message(dispatch(pipeline, {8, 1, 1}, {1025, 1, 1}, {memory})),
      HasSubstr("command 1, dispatch of kernel \"increment\": threadgroup of 1025 x 1 x 1"));
  EXPECT_THAT(message(dispatch(pipeline, {8, 1, 1}, {32, 32, 2}, {memory})),
              HasSubstr("1 to 1024"));
  EXPECT_THAT(message(dispatch(pipeline, {1ull << 32, 1, 1}, {1, 1, 1}, {memory})),
              HasSubstr("4294967296"));
  EXPECT_THAT(message(dispatch(nullptr, {1, 1, 1}, {1, 1, 1}, {})),
              HasSubstr("without a pipeline"));
  TestDispatch command = dispatch(pipeline, {8, 1, 1}, {8, 1, 1}, {memory});
  command.bindings[0].index = 31;
  EXPECT_THAT(message(command), HasSubstr("buffer index 31, expected below 31"));
  command.bindings[0].index = 0;
  command.bindings[0].offset = 1;
  EXPECT_THAT(message(command), HasSubstr("64 bytes at offset 1 of 64 bytes"));
  command = dispatch(pipeline, {8, 1, 1}, {8, 1, 1}, {memory});
  command.threadgroup_memory = {{0, 1ull << 40}};
  EXPECT_THAT(message(command), HasSubstr("threadgroup memory"));
}

TEST_F(CpuTest, UnboundArgumentsAreNamed) {
  msl::Image image = make_image(*executor_, "loops", "increment", msl::Tier::kWorkItemLoop);
  msl::ArgumentInfo argument;
  argument.name = "out";
  image.kernels[0].arguments = {argument};
  auto pipeline = load_image(*executor_, image, "increment");
  ASSERT_TRUE(pipeline);
  EXPECT_THAT(run({dispatch(*pipeline, {1, 1, 1}, {1, 1, 1}, {})}).error().message(),
              HasSubstr("argument \"out\": no buffer is bound at index 0"));
}

TEST_F(CpuTest, InlineBytesAreBound) {
  auto out = allocate(16);
  std::vector<std::byte> bytes(32);
  const float values[4] = {1, 2, 3, 4};
  std::memcpy(bytes.data() + 16, values, 16);
  TestDispatch command = dispatch(load_loop("twice"), {4, 1, 1}, {4, 1, 1}, {nullptr, out});
  command.bindings.push_back({0, nullptr, 16, 16});
  ASSERT_TRUE(run({command}, bytes));
  EXPECT_THAT(view<float>(out), testing::ElementsAre(2, 4, 6, 8));
}

TEST_F(CpuTest, ManyQueuesAtOnce) {
  auto pipeline = load_loop("increment");
  constexpr int kThreads = 6, kRounds = 200;
  std::vector<std::shared_ptr<rt::Memory>> memory;
  for (int i = 0; i < kThreads; ++i) memory.push_back(allocate(1000 * 4));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        EXPECT_TRUE(run({dispatch(pipeline, {1000, 1, 1}, {32, 1, 1}, {memory[t]}), rt::Barrier{},
                         dispatch(pipeline, {1000, 1, 1}, {100, 1, 1}, {memory[t]})}));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto& block : memory) EXPECT_THAT(view<uint32_t>(block), Each(2u * kRounds));
}

TEST_F(CpuTest, ForkedChildrenRunAndEnd) {
  auto pipeline = load_loop("increment");
  auto memory = allocate(1000 * 4);
  const pid_t child = fork();
  if (child == 0) {
    bool right = run({dispatch(pipeline, {1000, 1, 1}, {1, 1, 1}, {memory})}).has_value();
    for (uint32_t value : view<uint32_t>(memory)) right &= value == 1;
    executor_.reset();
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(CpuTest, CallersFloatModesDoNotReachKernels) {
  auto pipeline = load_loop("subnormal");
  auto memory = allocate(1000 * sizeof(float));
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040);  // flush to zero, subnormals are zero
  Status status = run({dispatch(pipeline, {1000, 1, 1}, {1, 1, 1}, {memory})});
  const unsigned after = _mm_getcsr();
  _mm_setcsr(saved);
  ASSERT_TRUE(status);
  EXPECT_EQ(after & 0x8040u, 0x8040u);
  EXPECT_THAT(view<float>(memory), Each(1e-38f / 16));
}

TEST_F(CpuTest, ImagesForOtherMachinesAreRefused) {
  msl::Image image = make_image(*executor_, "loops", "increment", msl::Tier::kWorkItemLoop);
  EXPECT_EQ(load_image(*executor_, image, "other").error().code(), ErrorCode::kFunctionNotFound);
  image.target = "ptx;sm_90;";
  EXPECT_THAT(load_image(*executor_, image, "increment").error().message(),
              HasSubstr("ptx;sm_90;"));
}

}  // namespace
}  // namespace mlxn::cpu
