// Prepared lists on the CPU executor: what is resolved once, what is run, what is said of failures.
#include "metal/rt/executor/prepared_list.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/unit/cpu_fixture.h"

namespace mlxn::cpu {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class FixedSource : public rt::ListSource {
 public:
  std::shared_ptr<const rt::PreparedList> current() override { return list; }
  std::shared_ptr<rt::PreparedList> list = std::make_shared<rt::PreparedList>();

  // A place with these commands.
  void add(const std::vector<TestCommand>& commands) {
    for (const TestCommand& command : commands) {
      std::visit([&](const auto& one) { append(list->list, one); }, command);
    }
    list->begins.push_back(list->list.commands.size());
  }
  rt::Execute execute(uint64_t first, uint64_t count) { return {this, first, count}; }
};

class PreparedListTest : public CpuTest {
 protected:
  void SetUp() override { view<float>(row[0])[0] = 1; }
  TestDispatch twice(int from, int to) {
    return dispatch(kernel, {1, 1, 1}, {1, 1, 1}, {row[from], row[to]});
  }
  float at(int index) { return view<float>(row[index])[0]; }

  std::shared_ptr<const rt::Pipeline> kernel = load_loop("twice");
  std::vector<MemoryPtr> row = {allocate(4), allocate(4), allocate(4), allocate(4)};
  FixedSource source;
};

TEST_F(PreparedListTest, AVersionIsResolvedOnce) {
  source.add({twice(0, 1)});
  const auto& list = *source.list;
  EXPECT_TRUE(run({source.execute(0, 1)}));
  const auto* made = &list.compiled([](const auto&) {
    ADD_FAILURE() << "it was there";
    return std::unique_ptr<rt::PreparedList::Compiled>();
  });
  view<float>(row[0])[0] = 5;
  EXPECT_TRUE(run({source.execute(0, 1), rt::Barrier{}, source.execute(0, 1)}));
  EXPECT_EQ(at(1), 10);
  EXPECT_EQ(
      &list.compiled([](const auto&) { return std::unique_ptr<rt::PreparedList::Compiled>(); }),
      made);
}

TEST_F(PreparedListTest, RunsThePlacesOfItsRange) {
  for (int i = 0; i < 3; ++i) source.add({rt::Barrier{}, twice(i, i + 1)});
  EXPECT_TRUE(run({source.execute(1, 1)}));
  EXPECT_EQ(at(1), 0);
  EXPECT_TRUE(run({source.execute(0, 2)}));
  EXPECT_EQ(at(2), 4);
  EXPECT_EQ(at(3), 0);
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_TRUE(run({source.execute(2, kMost), source.execute(kMost, kMost)}));
  EXPECT_EQ(at(3), 8);
}

TEST_F(PreparedListTest, CommandsAroundItAreOrderedByBarriers) {
  source.add({twice(1, 2)});
  EXPECT_TRUE(run({twice(0, 1), rt::Barrier{}, source.execute(0, 1), rt::Barrier{}, twice(2, 3)}));
  EXPECT_EQ(at(3), 8);
}

TEST_F(PreparedListTest, TheRangeIsReadWhenItStarts) {
  for (int i = 0; i < 3; ++i) source.add({rt::Barrier{}, twice(i, i + 1)});
  const MemoryPtr range = allocate(16);
  rt::Execute execute{.source = &source, .indirect = range.get(), .indirect_offset = 4};
  EXPECT_TRUE(run({fill(range, 8, 1, 2), rt::Barrier{}, execute}));
  EXPECT_EQ(at(2), 4);
  EXPECT_EQ(at(3), 0);
  execute.indirect_offset = 12;
  const Status status = run({execute});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(),
              HasSubstr("execution range at byte 12 of a buffer of 16 bytes"));
}

TEST_F(PreparedListTest, FailuresNameThePlace) {
  source.add({twice(0, 1)});
  source.add({dispatch(kernel, {1, 1, 1}, {1, 1, 1}, {row[1], nullptr})});
  source.add({rt::Barrier{}, twice(0, 2)});  // without the barrier it may run beside the failure
  Status status = run({rt::Barrier{}, source.execute(0, 3)});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(),
              AllOf(HasSubstr("command 1, place 1 of what it executes, dispatch of kernel "
                              "\"twice\""),
                    testing::Not(HasSubstr("place 0"))));
  EXPECT_EQ(at(1), 2) << "what comes in front has run";
  EXPECT_EQ(at(2), 0);
  source.list->wrong.emplace_back(0, Error(ErrorCode::kInvalidState, "no pipeline"));
  status = run({source.execute(0, 1)});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "command 0, execution: no pipeline");
  EXPECT_TRUE(run({source.execute(2, 1)}));
  EXPECT_EQ(at(2), 2);
}

// More dispatches than a segment holds; each doubles what the one in front of it made.
TEST_F(PreparedListTest, LongListsKeepTheirBarriers) {
  constexpr int kCount = 100;
  for (int i = 0; i < kCount; ++i) source.add({rt::Barrier{}, twice(i % 2, 1 - i % 2)});
  for (uint64_t seed : {0, 1, 2, 3}) {
    CpuOptions options;
    options.workers = 2;
    options.schedule_seed = seed;
    executor_ = create_executor(options);
    view<float>(row[0])[0] = 1;
    EXPECT_TRUE(run({source.execute(0, kCount)}));
    EXPECT_EQ(at(0), std::ldexp(1.0f, kCount));
  }
}

// Without barriers the commands share the workers, and a seed shuffles them.
TEST_F(PreparedListTest, AMissingBarrierShows) {
  for (int i = 0; i < 3; ++i) source.add({twice(i, i + 1)});
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CpuOptions options;
    options.workers = 1;
    options.schedule_seed = seed;
    executor_ = create_executor(options);
    for (int i = 1; i < 4; ++i) view<float>(row[i])[0] = 0;
    EXPECT_TRUE(run({source.execute(0, 3)}));
    wrong += at(3) != 8;
  }
  EXPECT_GT(wrong, 0);
}

TEST(ListRange, LiesWithinItsMemory) {
  rt::Execute execute{.first = 3, .count = 4};
  EXPECT_EQ(rt::range_of(execute, nullptr)->count, 4u);
  rt::Memory memory;
  memory.size = 8;
  execute.indirect = &memory;
  EXPECT_FALSE(rt::range_of(execute, nullptr)) << "not seen by the host";
  const uint32_t bytes[] = {7, 9};
  const auto range = rt::range_of(execute, reinterpret_cast<const std::byte*>(bytes));
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 7u);
  EXPECT_EQ(range->count, 9u);
}

}  // namespace
}  // namespace mlxn::cpu
