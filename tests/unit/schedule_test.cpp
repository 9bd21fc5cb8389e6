// Shuffled schedules of the CPU executor: missing barriers show, present ones hold.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "metal/exec/cpu/permutation.h"
#include "tests/unit/cpu_fixture.h"

namespace mlxn::cpu {
namespace {

using testing::Each;

constexpr uint64_t kSeeds = 20;

std::vector<uint64_t> order(uint64_t count, uint64_t seed) {
  const Permutation permutation(count, seed);
  std::vector<uint64_t> out(count);
  for (uint64_t i = 0; i < count; ++i) out[i] = permutation(i);
  return out;
}

TEST(PermutationTest, EveryNumberComesOnce) {
  for (uint64_t count : {1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 1000, 4096, 4097}) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      auto numbers = order(count, seed);
      std::ranges::sort(numbers);
      std::vector<uint64_t> expected(count);
      std::iota(expected.begin(), expected.end(), 0);
      ASSERT_EQ(numbers, expected) << count << " numbers, seed " << seed;
    }
  }
}

TEST(PermutationTest, SeedsGiveDifferentOrders) {
  EXPECT_EQ(order(100, 7), order(100, 7));
  std::set<std::vector<uint64_t>> pairs, triples, hundreds;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    pairs.insert(order(2, seed));
    triples.insert(order(3, seed));
    hundreds.insert(order(100, seed));
  }
  EXPECT_EQ(pairs.size(), 2u);
  EXPECT_GE(triples.size(), 4u);
  EXPECT_EQ(hundreds.size(), kSeeds);
}

TEST(PermutationTest, HugeCountsNeedNoMemory) {
  constexpr uint64_t kCount = (uint64_t{1} << 62) - 5;
  const Permutation permutation(kCount, 3);
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t value = permutation(kCount - 1 - i);
    EXPECT_LT(value, kCount);
    EXPECT_TRUE(seen.insert(value).second);
  }
}

class ScheduleTest : public CpuTest {
 protected:
  void shuffle(uint64_t seed, uint32_t workers = 1) {
    CpuOptions options;
    options.workers = workers;
    options.schedule_seed = seed;
    executor_ = create_executor(options);
  }

  // Doubles a row of ones 100 times, which is more commands than a batch otherwise prepares.
  std::vector<float> double_up(bool with_barriers) {
    constexpr uint64_t kCount = 256;
    auto pipeline = load_loop("mirror");
    auto a = allocate(kCount * sizeof(float)), b = allocate(kCount * sizeof(float));
    for (float& value : view<float>(a)) value = 1;
    std::vector<TestCommand> commands;
    for (int i = 0; i < 100; ++i) {
      if (i > 0 && with_barriers) commands.push_back(rt::Barrier{});
      commands.push_back(dispatch(pipeline, {kCount, 1, 1}, {16, 1, 1}, {a, b}));
      std::swap(a, b);
    }
    EXPECT_TRUE(run(std::move(commands)));
    auto out = view<float>(a);
    return {out.begin(), out.end()};
  }

  // A dispatch, then a copy of its result; without a barrier the copy may come first.
  float copy_after(bool with_barrier) {
    auto in = allocate(4), middle = allocate(4), out = allocate(4);
    view<float>(in)[0] = 21;
    std::vector<TestCommand> commands = {
        dispatch(load_loop("twice"), {1, 1, 1}, {1, 1, 1}, {in, middle})};
    if (with_barrier) commands.push_back(rt::Barrier{});
    commands.push_back(copy(middle, out, 0, 0, 4));
    EXPECT_TRUE(run(std::move(commands)));
    return view<float>(out)[0];
  }
};

TEST_F(ScheduleTest, WithoutASeedCommandsRunInOrder) {
  shuffle(0);
  EXPECT_THAT(double_up(false), Each(std::ldexp(1.0f, 100)));
  EXPECT_EQ(copy_after(false), 42);
}

TEST_F(ScheduleTest, AMissingBarrierShows) {
  int wrong_rows = 0, wrong_copies = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    shuffle(seed);
    const auto row = double_up(false);
    wrong_rows += std::ranges::count(row, std::ldexp(1.0f, 100)) != std::ssize(row);
    wrong_copies += copy_after(false) != 42;
  }
  EXPECT_EQ(wrong_rows, static_cast<int>(kSeeds));
  EXPECT_GT(wrong_copies, 0);
  EXPECT_LT(wrong_copies, static_cast<int>(kSeeds));
}

TEST_F(ScheduleTest, BarriersHold) {
  for (uint32_t workers : {1, 3}) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      shuffle(seed, workers);
      EXPECT_THAT(double_up(true), Each(std::ldexp(1.0f, 100))) << "seed " << seed;
      EXPECT_EQ(copy_after(true), 42) << "seed " << seed;
    }
  }
}

TEST_F(ScheduleTest, EveryThreadgroupRunsOnce) {
  for (uint32_t workers : {1, 3}) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      shuffle(seed, workers);
      auto pipeline = load_loop("increment");
      auto a = allocate(1000 * 4), b = allocate(33 * 17 * 5 * 4), c = allocate(3 << 20);
      std::vector<TestCommand> commands = {fill(c, 0, c->size, 1)};
      for (int i = 0; i < 70; ++i) {
        commands.push_back(dispatch(pipeline, {1000, 1, 1}, {7, 1, 1}, {a}));
        commands.push_back(dispatch(pipeline, {33, 17, 5}, {8, 8, 2}, {b}));
      }
      ASSERT_TRUE(run(std::move(commands)));
      EXPECT_THAT(view<uint32_t>(a), Each(70u));
      EXPECT_THAT(view<uint32_t>(b), Each(70u));
      EXPECT_EQ(std::ranges::count(view<uint8_t>(c), 1), 3 << 20);
    }
  }
}

TEST_F(ScheduleTest, ASeedGivesTheSameOrderAgainAndListsDifferentOnes) {
  auto rows = [&] {
    shuffle(5);
    return std::vector{double_up(false), double_up(false), double_up(false)};
  };
  const auto first = rows(), second = rows();
  EXPECT_EQ(first, second);
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first[1], first[2]);
}

TEST_F(ScheduleTest, TheEarliestErrorComesBack) {
  shuffle(9);
  auto memory = allocate(64);
  auto good = dispatch(load_loop("increment"), {16, 1, 1}, {1, 1, 1}, {memory});
  auto bad = good;
  bad.threads_per_threadgroup = {0, 1, 1};
  Status status = run({good, bad, good});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), testing::HasSubstr("command 1"));
  EXPECT_THAT(view<uint32_t>(memory), Each(1u));
}

}  // namespace
}  // namespace mlxn::cpu
