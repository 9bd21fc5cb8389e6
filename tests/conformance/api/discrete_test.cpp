// compat: excluded (a device for tests that only ours has)
// The device with memory and threads of its own: what it hides, and that queues and events work
// without the host.
#include <atomic>
#include <future>
#include <thread>

#include "api_test.h"

namespace mlxn_test {
namespace {

using ::testing::HasSubstr;

class DiscreteTest : public ApiTest {
 protected:
  DiscreteTest() : ApiTest("discrete") {}

  uint64_t round_trips() const { return mlxn::metal::host_round_trips(device.get()); }

  static void encode_fill(MTL::CommandBuffer* commands, MTL::Buffer* target, uint8_t value) {
    auto* blit = commands->blitCommandEncoder();
    blit->fillBuffer(target, NS::Range(0, target->length()), value);
    blit->endEncoding();
  }
  static void encode_copy(MTL::CommandBuffer* commands, MTL::Buffer* source, MTL::Buffer* target) {
    auto* blit = commands->blitCommandEncoder();
    blit->copyFromBuffer(source, 0, target, 0, source->length());
    blit->endEncoding();
  }
  static uint8_t first_byte(const Ptr<MTL::Buffer>& data) {
    return *static_cast<uint8_t*>(data->contents());
  }
};

TEST_F(DiscreteTest, IsNotOneOfTheDevicesOfTheSystem) {
  auto devices = TransferPtr(MTL::CopyAllDevices());
  for (NS::UInteger i = 0; i < devices->count(); ++i) {
    EXPECT_NE(text(devices->object<MTL::Device>(i)->name()), text(device->name()));
  }
  EXPECT_EQ(mlxn::metal::describe_device(device.get()).executor, "discrete");
  EXPECT_FALSE(device->hasUnifiedMemory());
}

TEST_F(DiscreteTest, PrivateMemoryIsReachedByCopies) {
  auto hidden = buffer(64, MTL::ResourceStorageModePrivate), seen = buffer(64);
  ASSERT_TRUE(hidden);
  EXPECT_EQ(hidden->contents(), nullptr);
  EXPECT_NE(hidden->gpuAddress(), 0u);
  auto* commands = queue->commandBuffer();
  encode_fill(commands, hidden.get(), 7);
  encode_copy(commands, hidden.get(), seen.get());
  EXPECT_EQ(finish(commands), "");
  EXPECT_EQ(first_byte(seen), 7);
}

TEST_F(DiscreteTest, KernelsReachPrivateMemory) {
  auto state = pipeline(
      "kernel void k(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]]) "
      "{ out[i] = i * 3; }",
      "k");
  auto hidden = buffer(256, MTL::ResourceStorageModePrivate), seen = buffer(256);
  auto* commands = queue->commandBuffer();
  auto* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(state.get());
  encoder->setBuffer(hidden.get(), 0, 0);
  encoder->dispatchThreads(MTL::Size(64, 1, 1), MTL::Size(32, 1, 1));
  encoder->endEncoding();
  encode_copy(commands, hidden.get(), seen.get());
  EXPECT_EQ(finish(commands), "");
  EXPECT_EQ(static_cast<uint32_t*>(seen->contents())[63], 189u);
}

TEST_F(DiscreteTest, MemoryOfTheHostIsNotWrapped) {
  alignas(4096) static std::byte page[4096];
  bool freed = false;
  auto wrapped = TransferPtr(device->newBuffer(page, sizeof page, MTL::ResourceStorageModeShared,
                                               [&](void*, NS::UInteger) { freed = true; }));
  EXPECT_FALSE(wrapped);
  EXPECT_FALSE(freed);
  ASSERT_FALSE(messages().empty());
  EXPECT_THAT(messages().back(), HasSubstr("does not reach memory of the host"));
}

TEST_F(DiscreteTest, AThousandCommandBuffersNeedNoHost) {
  auto data = buffer(64);
  std::atomic<int> handled = 0;
  Ptr<MTL::CommandBuffer> last;
  for (int i = 0; i < 1000; ++i) {
    renew_pool();
    last = NS::RetainPtr(queue->commandBuffer());
    encode_fill(last.get(), data.get(), static_cast<uint8_t>(i));
    last->addCompletedHandler([&](MTL::CommandBuffer*) { ++handled; });
    last->commit();
  }
  last->waitUntilCompleted();
  EXPECT_EQ(handled, 1000);
  EXPECT_EQ(first_byte(data), static_cast<uint8_t>(999));
  EXPECT_EQ(round_trips(), 0u);
}

TEST_F(DiscreteTest, AnEventBetweenQueuesNeedsNoHost) {
  constexpr int kRounds = 100;
  auto other = TransferPtr(device->newCommandQueue());
  auto event = TransferPtr(device->newEvent());
  auto data = buffer(64), copies = buffer(64);
  uint64_t value = 0;
  Ptr<MTL::CommandBuffer> last;
  for (int i = 0; i < kRounds; ++i) {
    renew_pool();
    auto* writer = queue->commandBuffer();
    writer->encodeWait(event.get(), value);
    encode_fill(writer, data.get(), static_cast<uint8_t>(i));
    writer->encodeSignalEvent(event.get(), ++value);
    last = NS::RetainPtr(other->commandBuffer());
    last->encodeWait(event.get(), value);
    encode_copy(last.get(), data.get(), copies.get());
    last->encodeSignalEvent(event.get(), ++value);
    last->commit();
    writer->commit();
  }
  last->waitUntilCompleted();
  EXPECT_EQ(last->status(), MTL::CommandBufferStatusCompleted);
  EXPECT_EQ(first_byte(copies), kRounds - 1);
  EXPECT_EQ(round_trips(), 0u);
}

TEST_F(DiscreteTest, AWaitForTheHostIsARoundTrip) {
  auto event = TransferPtr(device->newSharedEvent());
  // Nothing tells when the device has begun to wait, so the host may be first at times.
  for (uint64_t value = 0; round_trips() == 0 && value < 3000; value += 3) {
    auto* commands = queue->commandBuffer();
    commands->encodeSignalEvent(event.get(), value + 1);
    commands->encodeWait(event.get(), value + 2);
    commands->commit();
    EXPECT_TRUE(event->waitUntilSignaledValue(value + 1, 60000));
    std::this_thread::yield();
    event->setSignaledValue(value + 2);
    commands->waitUntilCompleted();
  }
  EXPECT_EQ(round_trips(), 1u);
}

TEST_F(DiscreteTest, CheckedBuffersAreRoundTrips) {
  validate();
  auto data = buffer(64);
  auto* commands = queue->commandBufferWithUnretainedReferences();
  encode_fill(commands, data.get(), 1);
  EXPECT_EQ(finish(commands), "");
  EXPECT_EQ(round_trips(), 1u);
}

// The device does not wait for the host's handlers.
TEST_F(DiscreteTest, TheNextBufferRunsBesideAHandler) {
  auto event = TransferPtr(device->newSharedEvent());
  std::promise<bool> second_ran;
  auto* first = queue->commandBuffer();
  first->addCompletedHandler(
      [&](MTL::CommandBuffer*) { second_ran.set_value(event->waitUntilSignaledValue(1, 60000)); });
  first->commit();
  auto* second = queue->commandBuffer();
  second->encodeSignalEvent(event.get(), 1);
  second->commit();
  EXPECT_TRUE(second_ran.get_future().get());
  second->waitUntilCompleted();
}

// Nobody waits: buffers, queue and device go by themselves, on the device's own threads.
TEST_F(DiscreteTest, TheDeviceGoesWithItsLastBuffer) {
  for (int i = 0; i < 20; ++i) {
    auto own = make_device("discrete");
    std::promise<void> done;
    {
      auto own_queue = TransferPtr(own->newCommandQueue());
      auto data = TransferPtr(own->newBuffer(64, MTL::ResourceStorageModeShared));
      auto* commands = own_queue->commandBuffer();
      encode_fill(commands, data.get(), 1);
      commands->addCompletedHandler([&](MTL::CommandBuffer*) { done.set_value(); });
      commands->commit();
    }
    own.reset();
    renew_pool();
    done.get_future().get();
  }
}

}  // namespace
}  // namespace mlxn_test
