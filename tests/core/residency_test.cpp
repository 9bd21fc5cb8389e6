#include "mlxn/core/memory/internal/residency.h"

#include <thread>

#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/encode/session.h"
#include "mlxn/core/memory/internal/storage.h"
#include "mlxn/core/memory/pool.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class Residency : public testing::Test {
 protected:
  uint64_t members() const { return device.counters().residency_allocations; }
  uint64_t commits() const { return device.counters().residency_commits; }
  void commit_empty() const {
    auto encoder = *device.command_encoder();
    EXPECT_OK(encoder.commit_and_wait());
  }
  static Device without() {
    RuntimeOptions options;
    options.residency = false;
    return make_null_device(options);
  }

  Device device = make_null_device();
};

TEST_F(Residency, IsOnByDefault) {
  EXPECT_TRUE(device.residency_enabled());
  EXPECT_TRUE(RuntimeOptions().residency);
}

TEST_F(Residency, CanBeSwitchedOff) {
  const Device plain = without();
  EXPECT_FALSE(plain.residency_enabled());
  std::vector<Buffer> buffers;
  for (int i = 0; i < 5; ++i) buffers.push_back(*plain.alloc(Dtype::kU8, {512}));
  EXPECT_EQ(plain.counters().residency_allocations, 0u);
  EXPECT_EQ(plain.counters().residency_commits, 0u);
}

TEST_F(Residency, TheDecisionIsLoggedWhenAsked) {
  LogLines lines;
  RuntimeOptions options;
  options.log_init = true;
  make_null_device(options);
  options.residency = false;
  make_null_device(options);
  EXPECT_EQ(lines.count("residency true"), 1u);
  EXPECT_EQ(lines.count("residency false (switched off)"), 1u);
}

// Edge 22: residency is a hint. Without a Metal device no set can be made.
TEST_F(Residency, AFailureToMakeTheSetIsAWarning) {
  LogLines lines;
  EXPECT_ERROR(kUnsupported, ResidencySet::create(nullptr, device.context()->counters));
  const Context context(nullptr, {});
  EXPECT_EQ(context.residency, nullptr);
  EXPECT_EQ(lines.count("no residency set, going on without"), 1u);
}

TEST_F(Residency, PoolAllocationsAreMembersUntilTheyAreEvicted) {
  BufferPool pool(device);
  auto batch = pool.alloc_batch(std::vector<PoolRequest>(4, {Dtype::kU8, {1024}}));
  ASSERT_TRUE(batch);
  EXPECT_EQ(members(), 4u);
  batch->clear();
  EXPECT_EQ(members(), 4u);
  pool.reset();
  pool.clear();
  EXPECT_EQ(members(), 0u);
}

TEST_F(Residency, DeviceAllocationsLeaveWhenTheyAreDropped) {
  std::vector<Buffer> buffers;
  for (int i = 0; i < 10; ++i) buffers.push_back(*device.alloc(Dtype::kU8, {1024}));
  EXPECT_EQ(members(), 10u);
  buffers.clear();
  EXPECT_EQ(members(), 0u);
}

TEST_F(Residency, CopiesAndViewsShareTheRegistration) {
  Buffer buffer = *device.alloc(Dtype::kU8, {2048});
  EXPECT_EQ(members(), 1u);
  {
    const std::vector<Buffer> copies(5, buffer);
    const Buffer view = *buffer.slice_view(16, 64);
    EXPECT_EQ(members(), 1u);
  }
  EXPECT_EQ(members(), 1u);
  buffer = Buffer();
  EXPECT_EQ(members(), 0u);
}

TEST_F(Residency, ChangesAreAppliedOnceByTheNextSubmission) {
  std::vector<Buffer> buffers;
  for (int i = 0; i < 100; ++i) buffers.push_back(*device.alloc(Dtype::kU8, {64}));
  EXPECT_EQ(members(), 100u);
  EXPECT_EQ(commits(), 0u);
  buffers.clear();
  EXPECT_EQ(members(), 0u);
  EXPECT_EQ(commits(), 0u);
  commit_empty();
  EXPECT_EQ(commits(), 1u);
  commit_empty();
  EXPECT_EQ(commits(), 1u) << "nothing was staged";
}

// Edge 20: the original's pool applies the set at each allocation.
TEST_F(Residency, ABatchIsAppliedByTheNextSubmission) {
  BufferPool pool(device);
  EXPECT_TRUE(pool.alloc_batch({})->empty());
  commit_empty();
  EXPECT_EQ(commits(), 0u);
  auto batch = pool.alloc_batch(std::vector<PoolRequest>(4, {Dtype::kU8, {1024}}));
  EXPECT_EQ(members(), 4u);
  EXPECT_EQ(commits(), 0u);
  commit_empty();
  EXPECT_EQ(commits(), 1u);
  std::vector<Buffer> singles;
  for (int i = 0; i < 4; ++i) singles.push_back(*pool.alloc(Dtype::kU8, {1024}));
  commit_empty();
  EXPECT_EQ(members(), 8u);
  EXPECT_EQ(commits(), 2u);
  batch->clear();
  singles.clear();
  pool.reset();
  pool.clear();
  EXPECT_EQ(members(), 0u);
  commit_empty();
  EXPECT_EQ(commits(), 3u);
}

// Edge 11: every way to make a buffer.
TEST_F(Residency, WrappedMemoryIsAMemberToo) {
  alignas(4096) static std::byte page[4096];
  auto metal =
      NS::TransferPtr(device.metal_device()->newBuffer(64, MTL::ResourceStorageModeShared));
  {
    const Buffer host = *device.wrap_host_memory(page, 4096, Dtype::kU8, {4096});
    EXPECT_EQ(members(), 1u);
    const Buffer wrapped = *device.wrap_metal_buffer(metal.get(), Dtype::kU8, {64});
    EXPECT_EQ(members(), 2u);
    const Buffer again = *device.wrap_metal_buffer(metal.get(), Dtype::kU8, {64});
    EXPECT_EQ(members(), 2u) << "edge 23: the same allocation, counted twice, is one member";
  }
  EXPECT_EQ(members(), 0u);
}

TEST_F(Residency, AnAllocationAddedTwiceLeavesWithTheSecondRemoval) {
  ResidencySet& set = *device.context()->residency;
  auto metal =
      NS::TransferPtr(device.metal_device()->newBuffer(64, MTL::ResourceStorageModeShared));
  std::atomic<bool> first = false, second = false;
  set.add(metal.get(), first);
  set.add(metal.get(), second);
  set.add(metal.get(), second);
  EXPECT_EQ(set.size(), 1u);
  EXPECT_TRUE(first && second);
  EXPECT_TRUE(set.flush());
  set.remove(metal.get(), second);
  set.remove(metal.get(), second);
  EXPECT_TRUE(set.contains(metal.get()));
  EXPECT_FALSE(set.flush()) << "nothing changed";
  set.remove(metal.get(), first);
  EXPECT_FALSE(set.contains(metal.get()));
  EXPECT_FALSE(first || second);
  EXPECT_EQ(members(), 0u);
  EXPECT_TRUE(set.flush());
}

TEST_F(Residency, ThreadsThatAddAndRemoveLeaveNoteAndSetAlike) {
  const Buffer buffer = *device.alloc(Dtype::kU8, {64});
  ResidencySet& set = *device.context()->residency;
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ready = 0;
    const auto race = [&](auto change) {
      ++ready;
      while (ready < 2) {
      }
      for (int i = 0; i < 2000; ++i) change();
    };
    std::thread adds([&] { race([&] { buffer.storage()->make_resident(); }); });
    std::thread removes([&] { race([&] { buffer.storage()->end_residency(); }); });
    adds.join();
    removes.join();
    ASSERT_EQ(buffer.storage()->resident, set.contains(buffer.metal_buffer())) << round;
    // Nothing that one of the changes left behind may outlive the last one.
    buffer.storage()->end_residency();
    ASSERT_FALSE(set.contains(buffer.metal_buffer())) << round;
  }
}

// Edge 23: removal waits for the submission that uses the memory.
TEST_F(Residency, MemoryInFlightStaysAMember) {
  const Device cpu = make_device();
  const auto count = [&] { return cpu.counters().residency_allocations; };
  auto session = *cpu.encoder_session();
  StageFence gate = {NS::TransferPtr(cpu.metal_device()->newSharedEvent()), 1};
  EXPECT_OK(session.wait_for(gate));
  {
    const Buffer in = zeros(cpu, 4), out = zeros(cpu, 4);
    EXPECT_OK(inc_one(session.encoder(), in, out));
    EXPECT_OK(session.commit_stage());
  }
  EXPECT_EQ(count(), 2u);
  gate.event->setSignaledValue(1);
  EXPECT_OK(session.wait_for_all());
  EXPECT_EQ(count(), 0u);
}

// Edge 24: the set leaves the queue with the device; a queue that lives on works on.
TEST_F(Residency, AQueueOutlivesTheSet) {
  NS::SharedPtr<MTL::CommandQueue> queue;
  {
    const Device own = make_null_device();
    queue = NS::RetainPtr(own.metal_queue());
    const Buffer buffer = *own.alloc(Dtype::kU8, {64});
  }
  auto* pool = NS::AutoreleasePool::alloc()->init();
  MTL::CommandBuffer* commands = queue->commandBuffer();
  commands->commit();
  commands->waitUntilCompleted();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusCompleted);
  pool->release();
}

TEST_F(Residency, ProcessCountersSumOverDevices) {
  const uint64_t before = process_counters().residency_allocations;
  const Device other = make_null_device();
  const Buffer x = *device.alloc(Dtype::kU8, {64}), y = *other.alloc(Dtype::kU8, {64});
  EXPECT_EQ(process_counters().residency_allocations - before, 2u);
  EXPECT_EQ(members(), 1u) << "edge 3: each device has its own";
}

}  // namespace
}  // namespace mlxn::test
