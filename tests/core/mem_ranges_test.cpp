#include "mlxn/core/encode/mem_ranges.h"

#include <random>

#include "mlxn/core/memory/internal/storage.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class Ranges : public testing::Test {
 protected:
  // Checks; records what does not conflict.
  bool run(ArrayRef<const Buffer*> reads, ArrayRef<const Buffer*> writes) {
    return ranges.check_and_record(reads, writes);
  }

  Device device = make_null_device();
  Buffer buffer_a = zeros(device, 16), buffer_b = zeros(device, 16), buffer_c = zeros(device, 16);
  const Buffer *a = &buffer_a, *b = &buffer_b, *c = &buffer_c;
  MemRanges ranges;
};

TEST_F(Ranges, ReadsOfTheSameBufferDoNotConflict) {
  EXPECT_TRUE(run({a}, {}));
  EXPECT_TRUE(run({a}, {}));
  EXPECT_EQ(ranges.barriers_forced(), 0u);
  EXPECT_EQ(ranges.checks(), 2u);
}

TEST_F(Ranges, ReadAfterWriteConflicts) {
  EXPECT_TRUE(run({}, {a}));
  EXPECT_FALSE(run({a}, {}));
  EXPECT_EQ(ranges.barriers_forced(), 1u);
  EXPECT_EQ(ranges.last_hazard()->hazard, Hazard::kReadAfterWrite);
}

TEST_F(Ranges, WriteAfterReadConflicts) {
  EXPECT_TRUE(run({a}, {}));
  EXPECT_FALSE(run({}, {a}));
  EXPECT_EQ(ranges.barriers_forced(), 1u);
  EXPECT_EQ(ranges.last_hazard()->hazard, Hazard::kWriteAfterRead);
}

TEST_F(Ranges, WriteAfterWriteConflicts) {
  EXPECT_TRUE(run({}, {a}));
  EXPECT_FALSE(run({}, {a}));
  EXPECT_EQ(ranges.barriers_forced(), 1u);
  EXPECT_EQ(ranges.last_hazard()->hazard, Hazard::kWriteAfterWrite);
}

TEST_F(Ranges, DifferentBuffersNeverConflict) {
  EXPECT_TRUE(run({}, {a}));
  EXPECT_TRUE(run({b}, {b}));
  EXPECT_TRUE(run({c}, {}));
  EXPECT_EQ(ranges.barriers_forced(), 0u);
  EXPECT_EQ(ranges.len(), 4u);
}

TEST_F(Ranges, UseInPlaceWithinOneDispatchIsNoConflict) {
  EXPECT_TRUE(run({a}, {a}));
}

TEST_F(Ranges, ResetClearsTheRangesAndKeepsTheCounts) {
  EXPECT_TRUE(run({}, {a}));
  EXPECT_FALSE(run({a}, {}));
  ranges.reset();
  EXPECT_TRUE(ranges.is_empty());
  EXPECT_TRUE(run({a}, {}));
  EXPECT_TRUE(run({a}, {}));
  EXPECT_EQ(ranges.barriers_forced(), 1u);
  EXPECT_EQ(ranges.checks(), 4u);
}

TEST_F(Ranges, ACheckRecordsNothing) {
  EXPECT_TRUE(ranges.check_dispatch({b}, {a}));
  EXPECT_TRUE(ranges.is_empty());
  EXPECT_TRUE(ranges.check_dispatch({a}, {}));
  ranges.add_dispatch({b, b}, {a});
  EXPECT_EQ(ranges.len(), 3u) << "one for each access";
  EXPECT_FALSE(run({a}, {}));
  EXPECT_EQ(ranges.len(), 3u) << "a conflict records nothing";
}

// Edge 38: in the original a view runs to the end of its allocation, so these two conflict.
TEST_F(Ranges, DisjointViewsDoNotConflict) {
  const Buffer parent = zeros(device, 256);
  const Buffer low = *parent.slice_view(0, 128), high = *parent.slice_view(512, 128);
  EXPECT_TRUE(run({}, {&low}));
  EXPECT_TRUE(run({}, {&high}));
  EXPECT_EQ(ranges.barriers_forced(), 0u);
  const Buffer across = *parent.slice_view(508, 2);
  EXPECT_FALSE(run({&across}, {}));
  EXPECT_FALSE(run({&parent}, {}));
}

TEST_F(Ranges, TwoBarriersInAChain) {
  EXPECT_TRUE(run({}, {a}));
  EXPECT_FALSE(run({a}, {b}));
  ranges.reset();
  ranges.add_dispatch({a}, {b});
  EXPECT_FALSE(run({b}, {c}));
  EXPECT_EQ(ranges.barriers_forced(), 2u);
}

TEST_F(Ranges, ConflictIsSymmetric) {
  const auto src = BufferRange::from_buffer(*a, MemRangeRole::kSrc);
  const auto dst = BufferRange::from_buffer(*a, MemRangeRole::kDst);
  EXPECT_TRUE(src.conflicts_with(dst));
  EXPECT_TRUE(dst.conflicts_with(src));
  EXPECT_TRUE(dst.conflicts_with(dst));
  EXPECT_FALSE(src.conflicts_with(src));
}

// Edge 38: touching ranges conflict in one direction in the original.
TEST_F(Ranges, TouchingRangesDoNotConflict) {
  const BufferRange first{100, 200, MemRangeRole::kDst}, second{200, 300, MemRangeRole::kDst};
  EXPECT_FALSE(first.conflicts_with(second));
  EXPECT_FALSE(second.conflicts_with(first));
  const BufferRange overlapping{199, 201, MemRangeRole::kSrc};
  EXPECT_TRUE(first.conflicts_with(overlapping));
  EXPECT_TRUE(overlapping.conflicts_with(second));
  ranges.push(first);
  EXPECT_TRUE(ranges.check({second}));
  EXPECT_FALSE(ranges.check({overlapping}));
}

// Edge 38: hazards keyed by object miss this.
TEST_F(Ranges, TwoMetalBuffersOverOneMemoryConflict) {
  auto first = device.wrap_metal_buffer(a->metal_buffer(), Dtype::kF32, {16});
  auto second = device.wrap_metal_buffer(a->metal_buffer(), Dtype::kF32, {8});
  ASSERT_TRUE(first && second);
  ASSERT_NE(first->storage(), second->storage());
  EXPECT_TRUE(run({}, {&*first}));
  EXPECT_FALSE(run({&*second}, {}));
}

TEST_F(Ranges, PrivateMemoryIsTrackedApart) {
  const Buffer x = *device.alloc(Dtype::kF32, {16}, StorageMode::kPrivate),
               y = *device.alloc(Dtype::kF32, {16}, StorageMode::kPrivate);
  EXPECT_TRUE(run({}, {&x}));
  EXPECT_TRUE(run({a}, {&y}));
  EXPECT_FALSE(run({&x}, {}));
}

TEST_F(Ranges, AMaskedHazardIsNotSeen) {
  MemRanges blind(
      static_cast<HazardMask>(kAllHazards & ~static_cast<HazardMask>(Hazard::kReadAfterWrite)));
  EXPECT_TRUE(blind.check_and_record({}, {a}));
  EXPECT_TRUE(blind.check_and_record({a}, {}));
  EXPECT_FALSE(blind.check_and_record({}, {a}));
}

// Against a list of all ranges, which is what the tracker has to be equal to.
TEST_F(Ranges, RandomRangesConflictAsInALinearScan) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    ranges.reset();
    std::vector<BufferRange> all;
    const uint64_t space = 200 + random() % 20000;
    for (int i = 0; i < 400; ++i) {
      const uint64_t begin = random() % space, length = 1 + random() % 60;
      const BufferRange range{begin, begin + length,
                              random() % 2 ? MemRangeRole::kSrc : MemRangeRole::kDst};
      const bool free = std::ranges::none_of(
          all, [&](const BufferRange& other) { return other.conflicts_with(range); });
      ASSERT_EQ(ranges.check({range}), free) << begin << " + " << length;
      if (free || random() % 8 == 0) {
        ranges.push(range);
        all.push_back(range);
      }
    }
    ASSERT_EQ(ranges.len(), all.size()) << "no fixed capacity";
  }
}

TEST_F(Ranges, AnEmptyRangeMeetsNothing) {
  const BufferRange empty{20, 20, MemRangeRole::kDst}, around{10, 30, MemRangeRole::kDst};
  EXPECT_FALSE(empty.conflicts_with(around));
  EXPECT_FALSE(around.conflicts_with(empty));
  ranges.push(around);
  EXPECT_TRUE(ranges.check({empty}));
}

}  // namespace
}  // namespace mlxn::test
