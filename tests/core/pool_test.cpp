#include "mlxn/core/memory/pool.h"

#include <barrier>
#include <cstring>
#include <set>
#include <thread>

#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/memory/internal/storage.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class Pool : public testing::Test {
 protected:
  static Buffer bytes(BufferPool& pool, uint64_t count) {
    auto buffer = pool.alloc(Dtype::kU8, {count});
    EXPECT_TRUE(buffer) << buffer.error().to_string();
    return buffer ? *buffer : Buffer();
  }
  static void expect_counts(const BufferPool& pool, uint64_t in_use, uint64_t free) {
    EXPECT_EQ(pool.stats().in_use_count, in_use);
    EXPECT_EQ(pool.stats().free_count, free);
  }
  uint64_t members() const { return device.counters().residency_allocations; }

  Device device = make_null_device();
};

TEST_F(Pool, PrivateMemoryIsRecycledUnseen) {
  BufferPool pool(device, {.mode = StorageMode::kPrivate, .zero_recycled = true});
  const uint64_t before = members();
  Buffer first = bytes(pool, 100);
  EXPECT_EQ(first.storage_mode(), StorageMode::kPrivate);
  EXPECT_EQ(first.contents(), nullptr);
  EXPECT_EQ(members(), before + 1);
  MTL::Buffer* memory = first.metal_buffer();
  first = {};
  expect_counts(pool, 0, 1);
  EXPECT_EQ(bytes(pool, 100).metal_buffer(), memory);
}

// The original rounds to powers of two and gives one byte for zero (edges 18 and 21).
TEST_F(Pool, SizeClasses) {
  const std::vector<std::pair<uint64_t, uint64_t>> cases = {
      {1, 16},    {2, 16},      {16, 16},     {17, 32},     {112, 112},
      {113, 128}, {128, 128},   {129, 144},   {200, 208},   {256, 256},
      {257, 288}, {1023, 1024}, {1024, 1024}, {1025, 1152}, {uint64_t{1} << 63, uint64_t{1} << 63},
  };
  for (const auto& [size, expected] : cases) {
    EXPECT_EQ(*BufferPool::size_class(size), expected) << size;
  }
  EXPECT_ERROR(kInvalidArgument, BufferPool::size_class(0));
  EXPECT_ERROR(kOutOfRange, BufferPool::size_class(UINT64_MAX));
}

TEST_F(Pool, SizeClassesWasteAtMostAnEighth) {
  uint64_t last = 0;
  for (uint64_t size = 128; size < (uint64_t{1} << 60); size += 1 + size / 7) {
    const uint64_t rounded = *BufferPool::size_class(size);
    ASSERT_GE(rounded, size);
    ASSERT_LE(rounded - size, size / 8) << size;
    ASSERT_GE(rounded, last);
    ASSERT_EQ(*BufferPool::size_class(rounded), rounded);
    last = rounded;
  }
}

TEST_F(Pool, ReleasedMemoryIsUsedAgain) {
  BufferPool pool(device);
  Buffer first = bytes(pool, 1024);
  const std::byte* address = first.contents();
  EXPECT_OK(pool.release(std::move(first)));
  expect_counts(pool, 0, 1);
  const Buffer second = bytes(pool, 1024);
  EXPECT_EQ(second.contents(), address);
  expect_counts(pool, 1, 0);
  EXPECT_EQ(pool.stats().hits, 1u);
  EXPECT_EQ(pool.stats().misses, 1u);
}

TEST_F(Pool, AHandleThatGoesReturnsItsMemory) {
  BufferPool pool(device);
  const std::byte* address = bytes(pool, 64).contents();
  expect_counts(pool, 0, 1);
  EXPECT_EQ(bytes(pool, 60).contents(), address) << "same class";
}

TEST_F(Pool, SimilarSizesShareAClass) {
  BufferPool pool(device);
  Buffer first = bytes(pool, 100);  // class 112
  const std::byte* address = first.contents();
  EXPECT_EQ(first.byte_len(), 100u) << "exactly what was asked for";
  EXPECT_EQ(first.allocation_length(), 112u);
  EXPECT_OK(pool.release(std::move(first)));
  Buffer again = bytes(pool, 112);
  EXPECT_EQ(again.contents(), address);
  Buffer other = bytes(pool, 200);  // class 208
  EXPECT_NE(other.contents(), address);
  EXPECT_EQ(pool.stats().requested_bytes, 312u);
  EXPECT_EQ(pool.stats().in_use_bytes, 320u);
  EXPECT_OK(pool.release(std::move(again)));
  EXPECT_OK(pool.release(std::move(other)));
  expect_counts(pool, 0, 2);
  EXPECT_EQ(pool.stats().free_bytes, 320u);
}

TEST_F(Pool, ArenaResetRecyclesWhatWasInUse) {
  BufferPool pool(device, {.hold_until_reset = true});
  std::set<const std::byte*> small;
  small.insert(bytes(pool, 1024).contents());  // the handle goes, the arena keeps the memory
  const std::byte* large = bytes(pool, 2048).contents();
  small.insert(bytes(pool, 1024).contents());
  EXPECT_EQ(small.size(), 2u);
  expect_counts(pool, 3, 0);
  pool.reset();
  expect_counts(pool, 0, 3);
  EXPECT_EQ(pool.stats().free_bytes, 4096u);
  EXPECT_TRUE(small.contains(bytes(pool, 1024).contents()));
  EXPECT_EQ(bytes(pool, 2048).contents(), large);
  expect_counts(pool, 2, 1);
}

// Edge 16: what is still used, here by a handle, is not recycled by a reset.
TEST_F(Pool, ArenaResetLeavesWhatIsStillUsed) {
  BufferPool pool(device, {.hold_until_reset = true});
  const Buffer kept = bytes(pool, 1024);
  bytes(pool, 1024);
  pool.reset();
  expect_counts(pool, 1, 1);
  const Buffer a = bytes(pool, 1024), b = bytes(pool, 1024);
  EXPECT_NE(a.contents(), kept.contents());
  EXPECT_NE(b.contents(), kept.contents());
}

TEST_F(Pool, ResetWithoutAllocationsIsIdempotent) {
  for (const bool hold : {false, true}) {
    BufferPool pool(device, {.hold_until_reset = hold});
    for (int i = 0; i < 3; ++i) pool.reset();
    expect_counts(pool, 0, 0);
  }
}

// The original lists the allocation twice here and later hands it to two callers (edge 14).
TEST_F(Pool, ReleaseAndResetReturnMemoryExactlyOnce) {
  BufferPool pool(device);
  Buffer first = bytes(pool, 1024);
  const std::byte* address = first.contents();
  expect_counts(pool, 1, 0);
  EXPECT_OK(pool.release(std::move(first)));
  expect_counts(pool, 0, 1);
  const Buffer second = bytes(pool, 1024);
  EXPECT_EQ(second.contents(), address);
  expect_counts(pool, 1, 0);
  pool.reset();
  expect_counts(pool, 1, 0);
  const Buffer third = bytes(pool, 1024);
  EXPECT_NE(third.contents(), second.contents());
}

TEST_F(Pool, CopiesAndViewsKeepTheMemory) {
  BufferPool pool(device);
  Buffer buffer = bytes(pool, 1024);
  Buffer copy = buffer;
  Buffer view = *buffer.slice_view(512, 16);
  EXPECT_OK(pool.release(std::move(buffer)));
  expect_counts(pool, 1, 0);
  copy = Buffer();
  expect_counts(pool, 1, 0);
  EXPECT_NE(bytes(pool, 1024).contents(), view.contents() - 512);
  EXPECT_OK(pool.release(std::move(view)));
  expect_counts(pool, 0, 2);
}

// Edge 15: the original files a foreign 1000-byte allocation under 1024.
TEST_F(Pool, ReleaseRefusesWhatIsNotItsOwn) {
  BufferPool pool(device), other(device);
  auto status = pool.release(*device.alloc(Dtype::kU8, {1000}));
  EXPECT_ERROR(kInvalidArgument, status);
  EXPECT_THAT(status.error().message(), testing::HasSubstr("1000 bytes"));
  EXPECT_ERROR(kInvalidArgument, pool.release(bytes(other, 16)));
  EXPECT_ERROR(kInvalidArgument, pool.release(Buffer()));
  expect_counts(pool, 0, 0);
}

// Edge 18: as Device::alloc.
TEST_F(Pool, RefusesNothingAndTooMuch) {
  BufferPool pool(device);
  EXPECT_ERROR(kInvalidArgument, pool.alloc(Dtype::kF32, {0}));
  EXPECT_ERROR(kOutOfRange, pool.alloc(Dtype::kF32, {UINT64_MAX, 2}));
  EXPECT_ERROR(kOutOfRange, pool.alloc(Dtype::kU8, {UINT64_MAX}));
  EXPECT_ERROR(kOutOfMemory, pool.alloc(Dtype::kU8, {uint64_t{1} << 62}));
  expect_counts(pool, 0, 0);
}

// Edge 17.
TEST_F(Pool, NewMemoryIsZeroAndRecycledMemoryFollowsThePolicy) {
  const auto second_round = [&](const PoolOptions& options) {
    BufferPool pool(device, options);
    const Buffer other = bytes(pool, 500);
    Buffer buffer = bytes(pool, 100);
    for (const std::byte b : *buffer.as_slice<std::byte>()) EXPECT_EQ(b, std::byte{0});
    std::ranges::fill(*buffer.as_mut_slice<std::byte>(), std::byte{7});
    EXPECT_OK(pool.release(std::move(buffer)));
    const Buffer again = bytes(pool, 105);
    const auto view = *again.as_slice<std::byte>();
    return std::pair(static_cast<int>(view.front()), static_cast<int>(view.back()));
  };
  EXPECT_EQ(second_round({}).first, 7);
  EXPECT_EQ(second_round({.zero_recycled = true}), std::pair(0, 0));
  EXPECT_EQ(second_round({.poison_recycled = true}), std::pair(0xA5, 0xA5));
  EXPECT_EQ(second_round({.zero_recycled = true, .poison_recycled = true}), std::pair(0, 0));
}

TEST_F(Pool, ByteLimitGivesAnErrorWithTheValues) {
  BufferPool pool(device, {.max_bytes = 3000});
  const Buffer a = bytes(pool, 1024), b = bytes(pool, 1024);
  auto third = pool.alloc(Dtype::kU8, {1024});
  EXPECT_ERROR(kOutOfMemory, third);
  EXPECT_THAT(third.error().message(),
              testing::AllOf(testing::HasSubstr("1024 more bytes"),
                             testing::HasSubstr("2048 bytes"), testing::HasSubstr("3000 bytes")));
  EXPECT_ERROR(kOutOfMemory, pool.alloc(Dtype::kU8, {4096}));
  const Buffer small = bytes(pool, 512);  // what fits still goes
  expect_counts(pool, 3, 0);
}

TEST_F(Pool, ObjectLimitCountsBuffers) {
  BufferPool pool(device, {.max_buffers = 2});
  const Buffer a = bytes(pool, 16), b = bytes(pool, 16);
  EXPECT_ERROR(kOutOfMemory, pool.alloc(Dtype::kU8, {16}));
}

TEST_F(Pool, LimitsEvictFreeMemoryOfOtherClassesFirst) {
  BufferPool pool(device, {.max_bytes = 4096, .max_buffers = 2});
  bytes(pool, 2048);
  bytes(pool, 1024);
  const Buffer large = bytes(pool, 4096);
  EXPECT_TRUE(large);
  EXPECT_EQ(pool.stats().evictions, 2u);
  expect_counts(pool, 1, 0);
}

TEST_F(Pool, FreeMemoryBeyondTheLimitGoesLeastRecentlyUsedFirst) {
  BufferPool pool(device, {.max_free_bytes = 2048});
  Buffer a = bytes(pool, 1024), b = bytes(pool, 512), c = bytes(pool, 1024);
  const std::byte *at_b = b.contents(), *at_c = c.contents();
  EXPECT_OK(pool.release(std::move(a)));
  EXPECT_OK(pool.release(std::move(b)));
  EXPECT_OK(pool.release(std::move(c)));  // 2560 bytes: the first one goes
  EXPECT_EQ(pool.stats().evictions, 1u);
  EXPECT_EQ(pool.stats().free_bytes, 1536u);
  EXPECT_EQ(bytes(pool, 512).contents(), at_b);
  EXPECT_EQ(bytes(pool, 1024).contents(), at_c);
  EXPECT_EQ(members(), 2u) << "evicted memory is no member any more";
}

TEST_F(Pool, AFailedAllocationIsReportedAndLeavesThePoolAsItWas) {
  BufferPool pool(device);
  metal::inject_fault(device.metal_device(), metal::Fault::kAllocation);
  auto failed = pool.alloc(Dtype::kU8, {1024});
  EXPECT_ERROR(kOutOfMemory, failed);
  EXPECT_THAT(failed.error().message(), testing::HasSubstr("1024 bytes"));
  expect_counts(pool, 0, 0);
  EXPECT_EQ(members(), 0u);
  EXPECT_TRUE(bytes(pool, 1024));
}

TEST_F(Pool, FreeMemoryIsGivenUpWhenTheDeviceHasNoneLeft) {
  BufferPool pool(device);
  bytes(pool, 64);
  metal::inject_fault(device.metal_device(), metal::Fault::kAllocation);
  const Buffer buffer = bytes(pool, 1024);
  EXPECT_TRUE(buffer);
  expect_counts(pool, 1, 0);
  EXPECT_EQ(pool.stats().evictions, 1u);
}

TEST_F(Pool, BatchIsAllOrNothing) {
  BufferPool pool(device, {.max_bytes = 3 * 1024, .hold_until_reset = true});
  const std::vector<PoolRequest> four(4, {Dtype::kU8, {1024}});
  auto batch = pool.alloc_batch(four);
  EXPECT_ERROR(kOutOfMemory, batch);
  EXPECT_THAT(batch.error().message(), testing::HasSubstr("request 3"));
  expect_counts(pool, 0, 3);
  EXPECT_ERROR(kInvalidArgument, pool.alloc_batch({{Dtype::kU8, {16}}, {Dtype::kU8, {0}}}));
  EXPECT_EQ(pool.stats().in_use_count, 0u);
  EXPECT_EQ(pool.alloc_batch({four[0], four[1]})->size(), 2u);
  EXPECT_EQ(pool.stats().in_use_count, 2u) << "held until reset";
}

TEST_F(Pool, AllocationsAreStagedForResidencyAndRecyclingKeepsThem) {
  BufferPool pool(device);
  bytes(pool, 1024);
  EXPECT_EQ(members(), 1u) << "free memory stays a member";
  bytes(pool, 1024);
  EXPECT_EQ(members(), 1u);
  EXPECT_EQ(device.counters().residency_commits, 0u) << "edge 20: the pool applies nothing";
  pool.clear();
  EXPECT_EQ(members(), 0u);
  expect_counts(pool, 0, 0);
}

TEST_F(Pool, ClearLeavesWhatIsInUse) {
  BufferPool pool(device);
  const Buffer kept = bytes(pool, 1024);
  bytes(pool, 64);
  pool.clear();
  expect_counts(pool, 1, 0);
  EXPECT_EQ(members(), 1u);
}

TEST_F(Pool, BuffersOutliveThePool) {
  Buffer kept, other;
  {
    BufferPool pool(device);
    kept = bytes(pool, 1024);
    other = bytes(pool, 1024);
    bytes(pool, 64);
  }
  EXPECT_EQ(members(), 2u) << "free memory went with the pool";
  other = Buffer();
  EXPECT_EQ(members(), 1u) << "nobody can use it again, so it goes at once";
  std::ranges::fill(*kept.as_mut_slice<std::byte>(), std::byte{9});
  EXPECT_EQ(kept.as_slice<std::byte>()->back(), std::byte{9});
  std::weak_ptr<Storage> storage = kept.storage();
  kept = Buffer();
  EXPECT_TRUE(storage.expired());
  EXPECT_EQ(members(), 0u);
}

TEST_F(Pool, AnArenaThatGoesDropsWhatItHeld) {
  {
    BufferPool pool(device, {.hold_until_reset = true});
    bytes(pool, 1024);
    EXPECT_EQ(members(), 1u);
  }
  EXPECT_EQ(members(), 0u);
}

TEST_F(Pool, MovesKeepTheMemoryAndAssignmentClosesTheOldPool) {
  BufferPool pool(device);
  bytes(pool, 1024);
  BufferPool moved = std::move(pool);
  expect_counts(moved, 0, 1);
  moved = BufferPool(device);
  EXPECT_EQ(members(), 0u);
  expect_counts(moved, 0, 0);
}

TEST_F(Pool, RegisterExistingDoesNotRecycle) {
  const Buffer external = *device.alloc(Dtype::kU8, {4096});
  const std::byte* address = external.contents();
  {
    BufferPool pool(device);
    EXPECT_OK(pool.register_existing(external));
    pool.reset();
    expect_counts(pool, 0, 0);
  }
  EXPECT_EQ(external.contents(), address);
  EXPECT_EQ(external.as_slice<std::byte>()->size(), 4096u);
  EXPECT_EQ(external.as_slice<std::byte>()->back(), std::byte{0});
}

TEST_F(Pool, RegisterExistingIsIdempotent) {
  {
    BufferPool pool(device);
    const Buffer external = *device.alloc(Dtype::kU8, {4096}), own = bytes(pool, 64);
    for (int i = 0; i < 2; ++i) {
      EXPECT_OK(pool.register_existing(external));
      EXPECT_OK(pool.register_existing(own));
    }
    EXPECT_EQ(members(), 2u);
  }
  EXPECT_EQ(members(), 0u);
}

TEST_F(Pool, RegisterExistingWithoutResidencyDoesNothing) {
  RuntimeOptions options;
  options.residency = false;
  const Device plain = make_null_device(options);
  BufferPool pool(plain);
  const Buffer external = *plain.alloc(Dtype::kU8, {4096}), own = bytes(pool, 64);
  EXPECT_OK(pool.register_existing(external));
  EXPECT_FALSE(plain.residency_enabled());
  EXPECT_EQ(plain.counters().residency_allocations, 0u);
  expect_counts(pool, 1, 0);
}

// Edge 19: the original keeps a strong reference. Edge 25: another context's buffer is refused.
TEST_F(Pool, RegisterExistingKeepsNothingAliveAndRefusesOtherDevices) {
  BufferPool pool(device);
  Buffer external = *device.alloc(Dtype::kU8, {4096});
  std::weak_ptr<Storage> storage = external.storage();
  EXPECT_OK(pool.register_existing(external));
  external = Buffer();
  EXPECT_TRUE(storage.expired());
  EXPECT_EQ(members(), 0u);

  const Device other = make_null_device();
  auto status = pool.register_existing(*other.alloc(Dtype::kU8, {16}));
  EXPECT_ERROR(kInvalidArgument, status);
  EXPECT_THAT(status.error().message(), testing::HasSubstr(std::to_string(other.id())));
  BufferPool others(other);
  EXPECT_ERROR(kInvalidArgument, pool.release(bytes(others, 16)));
  EXPECT_ERROR(kInvalidArgument, pool.register_existing(Buffer()));
}

TEST_F(Pool, LogsEachRegistrationWhenAsked) {
  LogLines lines;
  RuntimeOptions options;
  options.log_residency = true;
  const Device loud = make_null_device(options);
  BufferPool pool(loud);
  bytes(pool, 64);
  bytes(pool, 64);
  EXPECT_EQ(lines.count("made resident"), 1u);
}

// Memory must never be in two hands at once: each thread marks what it gets and looks again later.
TEST_F(Pool, EightThreadsNeverShareMemory) {
  BufferPool pool(device, {.max_free_bytes = 64 * 1024});
  constexpr int kThreads = 8, kRounds = 400;
  std::atomic<int> damaged{0};
  std::barrier start(kThreads);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      std::vector<Buffer> mine;
      uint64_t state = static_cast<uint64_t>(t) + 1;
      for (int i = 0; i < kRounds; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        auto buffer = pool.alloc(Dtype::kU8, {16 + (state >> 33) % 2000});
        if (!buffer) {
          ++damaged;
          continue;
        }
        std::ranges::fill(*buffer->as_mut_slice<std::byte>(), static_cast<std::byte>(t));
        mine.push_back(std::move(*buffer));
        if (mine.size() < 16) continue;
        const size_t victim = (state >> 20) % mine.size();
        for (const std::byte b : *mine[victim].as_slice<std::byte>()) {
          if (b != static_cast<std::byte>(t)) ++damaged;
        }
        mine.erase(mine.begin() + static_cast<ptrdiff_t>(victim));
        if (i % 97 == 0) pool.clear();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(damaged, 0);
  const PoolStats stats = pool.stats();
  EXPECT_EQ(stats.in_use_count + stats.in_use_bytes + stats.requested_bytes, 0u);
  EXPECT_EQ(stats.hits + stats.misses, uint64_t{kThreads * kRounds});
  EXPECT_LE(stats.free_bytes, 64u * 1024);
  EXPECT_EQ(members(), stats.free_count);
}

}  // namespace
}  // namespace mlxn::test
