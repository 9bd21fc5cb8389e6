// Memory: limits and their accounts, residency as Metal sees it, transfers, failures.
#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/memory/internal/storage.h"
#include "mlxn/core/memory/pool.h"
#include "mlxn/core/profile/profile.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class MemoryRules : public testing::Test {
 protected:
  Buffer hidden(size_t count) const {
    return *device.alloc(Dtype::kF32, {count}, StorageMode::kPrivate);
  }
  uint64_t members() const { return device.counters().residency_allocations; }

  NS::SharedPtr<MTL::Device> metal = make_metal_device();
  Device device = *Device::wrap(metal.get(), {});
};

TEST_F(MemoryRules, AFailedAllocationIsNotCounted) {
  LogLines quiet;
  BufferPool pool(device, {.max_buffers = 1});
  metal::inject_fault(metal.get(), metal::Fault::kAllocation);
  EXPECT_ERROR(kOutOfMemory, pool.alloc(Dtype::kF32, {4}));
  EXPECT_OK(pool.alloc(Dtype::kF32, {4}));
}

TEST_F(MemoryRules, ClearedMemoryIsNotCounted) {
  BufferPool pool(device, {.max_buffers = 1});
  EXPECT_OK(pool.alloc(Dtype::kF32, {4}));
  pool.clear();
  EXPECT_OK(pool.alloc(Dtype::kF32, {400}));
  EXPECT_EQ(pool.stats().evictions, 1u);
}

TEST_F(MemoryRules, FreeMemoryUpToTheLimitStays) {
  BufferPool pool(device, {.max_free_bytes = 128});
  EXPECT_OK(pool.alloc(Dtype::kU8, {128}));
  EXPECT_EQ(pool.stats().free_bytes, 128u);
  EXPECT_EQ(pool.stats().evictions, 0u);
}

// An arena holds memory which holds the arena; assigning over it must end that.
TEST_F(MemoryRules, AssigningOverAnArenaFreesIt) {
  BufferPool arena(device, {.hold_until_reset = true});
  EXPECT_OK(arena.alloc(Dtype::kF32, {4}));
  EXPECT_EQ(members(), 1u);
  arena = BufferPool(device);
  EXPECT_EQ(members(), 0u);
}

TEST_F(MemoryRules, TooLongForTheDevice) {
  const uint64_t most = device.limits().max_buffer_length;
  const std::string expected = "expected at most " + std::to_string(most);
  const auto plain = device.alloc(Dtype::kU8, {most + 1});
  ASSERT_TRUE(is_error(plain, ErrorCode::kOutOfMemory));
  EXPECT_THAT(plain.error().message(), testing::HasSubstr(expected));
  const auto pooled = BufferPool(device).alloc(Dtype::kU8, {most + 1});
  ASSERT_TRUE(is_error(pooled, ErrorCode::kOutOfMemory));
  EXPECT_THAT(pooled.error().message(), testing::HasSubstr(expected));
}

TEST_F(MemoryRules, MetalsSetHasTheMembersFromTheNextSubmissionOn) {
  MTL::ResidencySet* set = device.context()->residency->metal();
  const auto submit = [&] { EXPECT_OK(device.command_encoder()->commit_and_wait()); };
  {
    const Buffer buffer = zeros(device, 4);
    EXPECT_EQ(set->allocationCount(), 0u);
    submit();
    EXPECT_EQ(set->allocationCount(), 1u);
    EXPECT_TRUE(set->containsAllocation(buffer.metal_buffer()));
  }
  submit();
  EXPECT_EQ(set->allocationCount(), 0u);
}

TEST_F(MemoryRules, EachQueueHasTheSetWhileItLives) {
  const MTL::ResidencySet* set = device.context()->residency->metal();
  const NS::UInteger before = set->retainCount();
  NS::SharedPtr<MTL::CommandQueue> queue;  // Metal's may live longer than ours
  {
    const Device other = *device.with_new_queue();
    queue = NS::RetainPtr(other.metal_queue());
    EXPECT_EQ(set->retainCount(), before + 1);
  }
  EXPECT_EQ(set->retainCount(), before);
}

TEST_F(MemoryRules, TransfersOfAPartOfPrivateMemory) {
  const Buffer all = hidden(8);
  const Buffer high = *all.slice_view(16, 4);
  const std::vector<float> values = {1, 2, 3, 4}, both = {0, 0, 0, 0, 1, 2, 3, 4};
  EXPECT_OK(device.upload(std::as_bytes(std::span(values)), high));
  std::vector<float> part(4), whole(8);
  EXPECT_OK(device.download(high, std::as_writable_bytes(std::span(part))));
  EXPECT_OK(device.download(all, std::as_writable_bytes(std::span(whole))));
  EXPECT_EQ(part, values);
  EXPECT_EQ(whole, both);
}

TEST_F(MemoryRules, AFailedTransferIsAnError) {
  LogLines quiet;
  const Buffer buffer = hidden(4);
  std::vector<float> values(4);
  metal::inject_fault(metal.get(), metal::Fault::kRun);
  EXPECT_ERROR(kExecutionFailed, device.upload(std::as_bytes(std::span(values)), buffer));
  metal::inject_fault(metal.get(), metal::Fault::kRun);
  EXPECT_ERROR(kExecutionFailed,
               device.download(buffer, std::as_writable_bytes(std::span(values))));
  EXPECT_OK(device.download(buffer, std::as_writable_bytes(std::span(values))));
}

TEST_F(MemoryRules, PrivateMemoryIsInItsOwnHalfOfTheAddresses) {
  const auto begin = [](const Buffer& buffer) {
    return BufferRange::from_buffer(buffer, MemRangeRole::kSrc).begin;
  };
  EXPECT_GE(begin(hidden(4)), uint64_t{1} << 63);
  EXPECT_LT(begin(zeros(device, 4)), uint64_t{1} << 63);
}

// Seeing one failure does not make another one seen.
TEST_F(MemoryRules, AnUnseenErrorStaysUnseen) {
  LogLines quiet;
  const Buffer a = zeros(device, 4);
  for (const char* label : {"unseen", "seen"}) {
    CommandEncoder encoder = *device.command_encoder();
    EXPECT_OK(inc_one(encoder, a, a));
    metal::inject_fault(metal.get(), metal::Fault::kRun);
    EXPECT_OK(encoder.commit_labeled(label));
    encoder.metal_command_buffer()->waitUntilCompleted();
    if (std::string(label) == "seen") EXPECT_FALSE(encoder.wait_until_completed());
  }
  const Status status = device.synchronize();
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), testing::HasSubstr("'unseen'"));
}

TEST(ProfileRules, TimesBeforeTheFirstClockPairDoNotWrap) {
  Profile profile;
  profile.record_clock_pair(100, 1000);
  profile.record_clock_pair(1100, 2000);  // a tick is a nanosecond
  EXPECT_EQ(profile.convert_gpu_ticks_to_ns(950), 50u);
  EXPECT_EQ(profile.convert_gpu_ticks_to_ns(10), 0u);
}

TEST(ProfileRules, ResetForgetsCommandBuffers) {
  Profile profile;
  profile.record_command_buffer({});
  EXPECT_EQ(profile.command_buffers().size(), 1u);
  profile.reset();
  EXPECT_TRUE(profile.command_buffers().empty());
}

}  // namespace
}  // namespace mlxn::test
