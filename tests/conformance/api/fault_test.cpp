// Injected failures: what the API answers, what waits for the failed work, and what can still be
// done and released.
#include <unistd.h>

#include <cstdlib>

#include "api_test.h"

namespace mlxn_test {
namespace {

using ::mlxn::metal::Fault;
using ::testing::HasSubstr;

class FaultTest : public ApiTest {
 protected:
  void fail(Fault fault, uint64_t after = 0) {
    mlxn::metal::inject_fault(device.get(), fault, after);
  }

  void fill(MTL::CommandBuffer* commands, MTL::Buffer* target, uint8_t value) {
    auto* blit = commands->blitCommandEncoder();
    blit->fillBuffer(target, NS::Range(0, target->length()), value);
    blit->endEncoding();
  }

  Ptr<MTL::CounterSampleBuffer> samples(NS::Error** error) {
    auto descriptor = TransferPtr(MTL::CounterSampleBufferDescriptor::alloc()->init());
    descriptor->setCounterSet(device->counterSets()->object<MTL::CounterSet>(0));
    descriptor->setSampleCount(4);
    return TransferPtr(device->newCounterSampleBuffer(descriptor.get(), error));
  }

  Ptr<MTL::Heap> heap() {
    auto descriptor = TransferPtr(MTL::HeapDescriptor::alloc()->init());
    descriptor->setSize(4096);
    descriptor->setResourceOptions(MTL::ResourceStorageModeShared);
    return TransferPtr(device->newHeap(descriptor.get()));
  }
};

TEST_F(FaultTest, AnAllocationFailsOnce) {
  fail(Fault::kAllocation);
  EXPECT_FALSE(buffer(16));
  EXPECT_THAT(messages().back(), HasSubstr("newBuffer: injected failure of an allocation"));
  EXPECT_TRUE(buffer(16));
}

TEST_F(FaultTest, TheCountSaysWhichAllocationFails) {
  fail(Fault::kAllocation, 2);
  EXPECT_TRUE(buffer(16));
  EXPECT_TRUE(heap());
  EXPECT_FALSE(buffer(16));
  EXPECT_TRUE(buffer(16));
}

TEST_F(FaultTest, ASecondRequestReplacesTheFirst) {
  fail(Fault::kAllocation, 0);
  fail(Fault::kAllocation, 1);
  EXPECT_TRUE(buffer(16));
  EXPECT_FALSE(buffer(16));
  EXPECT_TRUE(buffer(16));
}

TEST_F(FaultTest, EveryKindOfMemoryCanFail) {
  const uint64_t before = device->currentAllocatedSize();
  const int word = 7;
  fail(Fault::kAllocation);
  EXPECT_FALSE(TransferPtr(device->newBuffer(&word, sizeof word, MTL::ResourceStorageModeShared)));
  fail(Fault::kAllocation);
  EXPECT_FALSE(heap());
  fail(Fault::kAllocation);
  NS::Error* error = nullptr;
  EXPECT_FALSE(samples(&error));
  EXPECT_EQ(error->code(), MTL::CounterSampleBufferErrorOutOfMemory);

  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory = std::aligned_alloc(page, page);
  fail(Fault::kAllocation);
  EXPECT_FALSE(
      TransferPtr(device->newBuffer(memory, page, MTL::ResourceStorageModeShared, nullptr)));
  std::free(memory);
  EXPECT_EQ(device->currentAllocatedSize(), before);
}

TEST_F(FaultTest, APipelineFailsOnce) {
  auto lib = library("kernel void k() {}");
  auto function = TransferPtr(lib->newFunction(string("k")));
  fail(Fault::kPipeline);
  NS::Error* error = nullptr;
  EXPECT_FALSE(TransferPtr(device->newComputePipelineState(function.get(), &error)));
  EXPECT_THAT(text(error), HasSubstr("injected failure of a pipeline"));
  error = nullptr;
  EXPECT_TRUE(TransferPtr(device->newComputePipelineState(function.get(), &error)));
  EXPECT_EQ(error, nullptr);
}

TEST_F(FaultTest, ARunFailsOnce) {
  auto data = buffer(16);
  auto bytes = [&] { return static_cast<uint8_t*>(data->contents())[15]; };
  fail(Fault::kRun, 1);
  for (int i = 1; i <= 3; ++i) {
    auto* commands = queue->commandBuffer();
    fill(commands, data.get(), static_cast<uint8_t>(i));
    const std::string error = finish(commands);
    if (i == 2) {
      EXPECT_THAT(error, HasSubstr("injected failure of a run"));
      EXPECT_EQ(commands->error()->code(), MTL::CommandBufferErrorInternal);
      EXPECT_EQ(bytes(), 1);
    } else {
      EXPECT_EQ(error, "");
      EXPECT_EQ(bytes(), i);
    }
    EXPECT_GE(commands->GPUEndTime(), commands->GPUStartTime());
  }
}

TEST_F(FaultTest, DevicesHaveFaultsOfTheirOwn) {
  auto other = make_device("null");
  mlxn::metal::inject_fault(other.get(), Fault::kAllocation, 0);
  EXPECT_TRUE(buffer(16));
  EXPECT_FALSE(TransferPtr(other->newBuffer(16, MTL::ResourceStorageModeShared)));
  mlxn::metal::inject_fault(nullptr, Fault::kAllocation, 0);
}

// Three queues wait for each other in a chain; the first one's work fails.
TEST_F(FaultTest, AFailureTravelsAlongAChainOfEvents) {
  auto event = TransferPtr(device->newEvent());
  auto data = buffer(16);
  constexpr int kStages = 3;
  Ptr<MTL::CommandQueue> queues[kStages];
  Ptr<MTL::CommandBuffer> stages[kStages];
  for (int i = 0; i < kStages; ++i) {
    queues[i] = TransferPtr(device->newCommandQueue());
    stages[i] = NS::RetainPtr(queues[i]->commandBuffer());
    if (i > 0) stages[i]->encodeWait(event.get(), i);
    fill(stages[i].get(), data.get(), static_cast<uint8_t>(i + 1));
    stages[i]->encodeSignalEvent(event.get(), i + 1);
  }
  fail(Fault::kRun);
  for (int i = kStages - 1; i >= 0; --i) stages[i]->commit();
  for (auto& stage : stages) {
    stage->waitUntilCompleted();
    EXPECT_EQ(stage->status(), MTL::CommandBufferStatusError);
    EXPECT_THAT(text(stage->error()), HasSubstr("injected failure of a run"));
  }
  EXPECT_EQ(static_cast<uint8_t*>(data->contents())[0], 0);

  // The step after the poisoned ones is sound.
  auto* next = queues[0]->commandBuffer();
  next->encodeSignalEvent(event.get(), kStages + 1);
  EXPECT_EQ(finish(next), "");
  auto* waiter = queues[1]->commandBuffer();
  waiter->encodeWait(event.get(), kStages + 1);
  fill(waiter, data.get(), 9);
  EXPECT_EQ(finish(waiter), "");
  EXPECT_EQ(static_cast<uint8_t*>(data->contents())[0], 9);
}

TEST_F(FaultTest, TheHostLearnsOfAPoisonedSharedEvent) {
  auto event = TransferPtr(device->newSharedEvent());
  auto data = buffer(16);
  fail(Fault::kRun);
  auto* commands = queue->commandBuffer();
  fill(commands, data.get(), 1);
  commands->encodeSignalEvent(event.get(), 5);
  commands->commit();
  EXPECT_FALSE(event->waitUntilSignaledValue(5, ~0ull));
  EXPECT_EQ(event->signaledValue(), 5u);
  commands->waitUntilCompleted();
}

TEST_F(FaultTest, WorkBeforeTheFailureInTheSameBufferCounts) {
  auto event = TransferPtr(device->newSharedEvent());
  auto first = buffer(16), second = buffer(16);
  fail(Fault::kRun, 1);
  auto* commands = queue->commandBuffer();
  fill(commands, first.get(), 1);
  commands->encodeSignalEvent(event.get(), 1);
  fill(commands, second.get(), 2);
  commands->encodeSignalEvent(event.get(), 2);
  EXPECT_THAT(finish(commands), HasSubstr("injected"));
  EXPECT_TRUE(event->waitUntilSignaledValue(1, 0));
  EXPECT_FALSE(event->waitUntilSignaledValue(2, 0));
  EXPECT_EQ(static_cast<uint8_t*>(first->contents())[0], 1);
  EXPECT_EQ(static_cast<uint8_t*>(second->contents())[0], 0);
}

TEST_F(FaultTest, HandlersRunAfterAFailure) {
  auto data = buffer(16);
  fail(Fault::kRun);
  auto* commands = queue->commandBuffer();
  fill(commands, data.get(), 1);
  MTL::CommandBufferStatus seen = MTL::CommandBufferStatusNotEnqueued;
  const MTL::HandlerFunction handler = [&](MTL::CommandBuffer* done) { seen = done->status(); };
  commands->addCompletedHandler(handler);
  finish(commands);
  EXPECT_EQ(seen, MTL::CommandBufferStatusError);
}

// Objects may go in any order and state after a failure; the address sanitizer sees what is wrong.
TEST_F(FaultTest, EverythingCanBeReleasedInAnyStateAfterAFailure) {
  for (int order = 0; order < 4; ++order) {
    auto event = TransferPtr(device->newSharedEvent());
    auto state = any_pipeline();
    auto space = heap();
    auto inner = TransferPtr(space->newBuffer(64, MTL::ResourceStorageModeShared));
    auto data = buffer(64);
    auto set_up = [&](MTL::CommandBuffer* commands) {
      auto* encoder = commands->computeCommandEncoder();
      encoder->setComputePipelineState(state.get());
      encoder->setBuffer(data.get(), 0, 0);
      encoder->setBuffer(inner.get(), 0, 1);
      encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
      return encoder;
    };
    const bool retained = order % 2 == 0;
    auto make = [&] {
      return NS::RetainPtr(retained ? queue->commandBuffer()
                                    : queue->commandBufferWithUnretainedReferences());
    };
    fail(Fault::kRun);
    auto failed = make(), waiting = make(), enqueued = make(), open = make(), fresh = make();
    set_up(failed.get())->endEncoding();
    failed->encodeSignalEvent(event.get(), 1);
    failed->commit();
    waiting->encodeWait(event.get(), 2);
    set_up(waiting.get())->endEncoding();
    waiting->commit();
    set_up(enqueued.get())->endEncoding();
    enqueued->enqueue();
    auto encoder = NS::RetainPtr(set_up(open.get()));
    failed->waitUntilCompleted();
    EXPECT_EQ(failed->status(), MTL::CommandBufferStatusError);
    if (order < 2) {
      failed.reset();
      fresh.reset();
      enqueued.reset();
      encoder.reset();
      open.reset();
      event->setSignaledValue(2);
      waiting->waitUntilCompleted();
      data.reset();
      inner.reset();
      space.reset();
      state.reset();
    } else {
      event->setSignaledValue(2);
      waiting->waitUntilCompleted();
      waiting.reset();
      state.reset();
      data.reset();
      space.reset();
      inner.reset();
      open.reset();
      encoder.reset();
      enqueued.reset();
      fresh.reset();
      failed.reset();
    }
    renew_pool();
  }
  auto data = buffer(16);
  auto* commands = queue->commandBuffer();
  fill(commands, data.get(), 3);
  EXPECT_EQ(finish(commands), "");
}

TEST_F(FaultTest, ADeviceCanGoWhileItsWorkFails) {
  auto data = buffer(16);
  auto event = TransferPtr(device->newSharedEvent());
  fail(Fault::kRun);
  auto commands = NS::RetainPtr(queue->commandBuffer());
  commands->encodeWait(event.get(), 1);
  fill(commands.get(), data.get(), 1);
  commands->commit();
  data.reset();
  queue.reset();
  device.reset();
  event->setSignaledValue(1);
  commands->waitUntilCompleted();
  EXPECT_THAT(text(commands->error()), HasSubstr("injected"));
}

}  // namespace
}  // namespace mlxn_test
