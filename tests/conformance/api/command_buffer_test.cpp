// Life cycle, order and handlers of command buffers.
#include <atomic>
#include <condition_variable>
#include <thread>

#include "api_test.h"

namespace mlxn_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CommandBufferTest : public ApiTest {
 protected:
  void encode_fill(MTL::CommandBuffer* commands, MTL::Buffer* target, uint8_t value) {
    auto* blit = commands->blitCommandEncoder();
    blit->fillBuffer(target, NS::Range(0, target->length()), value);
    blit->endEncoding();
  }
};

TEST_F(CommandBufferTest, StatusGoesFromNotEnqueuedToCompleted) {
  auto* commands = queue->commandBuffer();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusNotEnqueued);
  EXPECT_EQ(commands->commandQueue(), queue.get());
  EXPECT_EQ(commands->device(), device.get());
  EXPECT_TRUE(commands->retainedReferences());
  EXPECT_EQ(commands->GPUStartTime(), 0);
  commands->enqueue();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusEnqueued);
  commands->commit();
  EXPECT_GE(commands->status(), MTL::CommandBufferStatusCommitted);
  commands->waitUntilScheduled();
  EXPECT_GE(commands->status(), MTL::CommandBufferStatusScheduled);
  commands->waitUntilCompleted();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusCompleted);
  EXPECT_EQ(commands->error(), nullptr);
  EXPECT_GT(commands->GPUStartTime(), 0);
  EXPECT_GE(commands->GPUEndTime(), commands->GPUStartTime());
  EXPECT_GT(commands->kernelStartTime(), 0);
  EXPECT_GE(commands->kernelEndTime(), commands->kernelStartTime());
}

TEST_F(CommandBufferTest, EnqueueDecidesTheOrder) {
  std::vector<int> order;  // written on the queue's thread only
  auto* first = queue->commandBuffer();
  auto* second = queue->commandBuffer();
  first->addCompletedHandler([&](MTL::CommandBuffer*) { order.push_back(1); });
  second->addCompletedHandler([&](MTL::CommandBuffer*) { order.push_back(2); });
  first->enqueue();
  second->enqueue();
  second->commit();
  EXPECT_EQ(second->status(), MTL::CommandBufferStatusCommitted);  // waits for its turn
  first->commit();
  second->waitUntilCompleted();
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST_F(CommandBufferTest, ManyBuffersRunInCommitOrder) {
  constexpr int kBuffers = 50;
  auto data = buffer(1), seen = buffer(kBuffers);
  std::vector<int> completed;  // written by one thread at a time
  for (int i = 0; i < kBuffers; ++i) {
    auto* commands = queue->commandBuffer();
    auto* copy = commands->blitCommandEncoder();  // what the buffer before left
    copy->copyFromBuffer(data.get(), 0, seen.get(), i, 1);
    copy->endEncoding();
    encode_fill(commands, data.get(), static_cast<uint8_t>(i + 1));
    commands->addCompletedHandler([&, i](MTL::CommandBuffer*) { completed.push_back(i); });
    commands->commit();
  }
  EXPECT_EQ(finish(queue->commandBuffer()), "");
  ASSERT_EQ(completed.size(), size_t{kBuffers});
  for (int i = 0; i < kBuffers; ++i) {
    EXPECT_EQ(completed[i], i);
    EXPECT_EQ(static_cast<uint8_t*>(seen->contents())[i], i);
  }
}

TEST_F(CommandBufferTest, ABufferDroppedAfterEnqueueDoesNotBlockTheQueue) {
  auto kept = NS::RetainPtr(queue->commandBuffer());
  {
    auto* pool = NS::AutoreleasePool::alloc()->init();
    queue->commandBuffer()->enqueue();
    kept->enqueue();
    kept->commit();
    pool->release();
  }
  kept->waitUntilCompleted();
  EXPECT_EQ(kept->status(), MTL::CommandBufferStatusCompleted);
}

TEST_F(CommandBufferTest, HandlersRunInOrderAndBeforeWaitReturns) {
  std::vector<std::string> calls;
  auto* commands = queue->commandBuffer();
  commands->addScheduledHandler([&](MTL::CommandBuffer* one) {
    EXPECT_EQ(one->status(), MTL::CommandBufferStatusScheduled);
    calls.push_back("scheduled");
  });
  commands->addCompletedHandler([&](MTL::CommandBuffer* one) {
    EXPECT_EQ(one->status(), MTL::CommandBufferStatusCompleted);
    one->waitUntilCompleted();  // returns at once inside the handler
    calls.push_back("completed 1");
  });
  commands->addCompletedHandler([&](MTL::CommandBuffer*) { calls.push_back("completed 2"); });
  EXPECT_EQ(finish(commands), "");
  EXPECT_THAT(calls, ElementsAre("scheduled", "completed 1", "completed 2"));
}

TEST_F(CommandBufferTest, HandlersSeeTheError) {
  validate();
  std::string seen;
  auto* commands = queue->commandBuffer();
  commands->popDebugGroup();
  commands->addCompletedHandler([&](MTL::CommandBuffer* one) { seen = text(one->error()); });
  EXPECT_THAT(finish(commands), HasSubstr("popDebugGroup"));
  EXPECT_THAT(seen, HasSubstr("popDebugGroup"));
}

TEST_F(CommandBufferTest, AHandlerMayCommitMoreWork) {
  std::atomic<bool> done = false;
  auto* commands = queue->commandBuffer();
  auto second = NS::RetainPtr(queue->commandBuffer());
  second->addCompletedHandler([&](MTL::CommandBuffer*) { done = true; });
  commands->addCompletedHandler([&](MTL::CommandBuffer*) { second->commit(); });
  EXPECT_EQ(finish(commands), "");
  second->waitUntilCompleted();
  EXPECT_TRUE(done);
}

TEST_F(CommandBufferTest, WaitingOnTheQueueThreadIsReportedNotHung) {
  auto* first = queue->commandBuffer();
  auto second = NS::RetainPtr(queue->commandBuffer());
  first->enqueue();
  second->commit();
  first->addCompletedHandler([&](MTL::CommandBuffer*) { second->waitUntilCompleted(); });
  EXPECT_EQ(finish(first), "");
  EXPECT_THAT(messages().at(0), HasSubstr("called on the queue's own thread"));
  second->waitUntilCompleted();
  EXPECT_EQ(second->status(), MTL::CommandBufferStatusCompleted);
}

TEST_F(CommandBufferTest, TheQueueMayBeReleasedWhileWorkIsPending) {
  std::atomic<int> completed = 0;
  auto event = TransferPtr(device->newSharedEvent());
  auto last = Ptr<MTL::CommandBuffer>();
  for (int i = 0; i < 3; ++i) {
    auto* commands = queue->commandBuffer();
    commands->encodeWait(event.get(), 1);
    commands->addCompletedHandler([&](MTL::CommandBuffer*) { ++completed; });
    commands->commit();
    last = NS::RetainPtr(commands);
  }
  queue.reset();
  renew_pool();
  event->setSignaledValue(1);
  last->waitUntilCompleted();
  EXPECT_EQ(completed, 3);
  last.reset();
}

TEST_F(CommandBufferTest, MaxCommandBufferCountBlocksUntilOneCompletes) {
  auto small = TransferPtr(device->newCommandQueue(2));
  auto event = TransferPtr(device->newSharedEvent());
  auto* first = small->commandBuffer();
  first->encodeWait(event.get(), 1);
  first->commit();
  auto* second = small->commandBuffer();
  second->commit();
  std::atomic<bool> got = false;
  std::thread thread([&] {
    auto* pool = NS::AutoreleasePool::alloc()->init();
    EXPECT_EQ(finish(small->commandBuffer()), "");
    got = true;
    pool->release();
  });
  EXPECT_FALSE(got);  // nothing has completed, so it cannot have been given one
  event->setSignaledValue(1);
  thread.join();
  EXPECT_TRUE(got);
  EXPECT_EQ(device->newCommandQueue(NS::UInteger(0)), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("maxCommandBufferCount 0"));
}

TEST_F(CommandBufferTest, DroppedBuffersFreeTheirPlaceInTheCount) {
  auto small = TransferPtr(device->newCommandQueue(1));
  for (int i = 0; i < 3; ++i) {
    auto* pool = NS::AutoreleasePool::alloc()->init();
    EXPECT_NE(small->commandBuffer(), nullptr);
    pool->release();
  }
}

TEST_F(CommandBufferTest, RetainedBuffersLiveUntilCompletion) {
  auto event = TransferPtr(device->newSharedEvent());
  auto data = buffer(16);
  auto* raw = data.get();
  auto* commands = queue->commandBuffer();
  commands->encodeWait(event.get(), 1);
  encode_fill(commands, raw, 3);
  EXPECT_EQ(raw->retainCount(), 2u);
  commands->commit();
  event->setSignaledValue(1);
  commands->waitUntilCompleted();
  EXPECT_EQ(raw->retainCount(), 1u);
  EXPECT_EQ(*static_cast<uint8_t*>(raw->contents()), 3);
}

TEST_F(CommandBufferTest, DoubleCommitIsReported) {
  auto* commands = queue->commandBuffer();
  EXPECT_EQ(finish(commands), "");
  commands->commit();
  EXPECT_THAT(messages().at(0),
              HasSubstr("MTL::CommandBuffer::commit: command buffer is already committed"));
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusCompleted);  // it had completed before
}

TEST_F(CommandBufferTest, DoubleCommitBeforeCompletionBecomesTheError) {
  auto event = TransferPtr(device->newSharedEvent());
  auto* commands = queue->commandBuffer();
  commands->encodeWait(event.get(), 1);
  commands->commit();
  commands->commit();
  event->setSignaledValue(1);
  commands->waitUntilCompleted();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusError);
  EXPECT_THAT(text(commands->error()), HasSubstr("already committed"));
  EXPECT_EQ(text(commands->error()->domain()), "MTLCommandBufferErrorDomain");
  EXPECT_EQ(commands->error()->code(),
            static_cast<NS::Integer>(MTL::CommandBufferErrorInvalidResource));
}

TEST_F(CommandBufferTest, WrongOrdersOfCallsAreErrors) {
  validate();
  auto* twice = queue->commandBuffer();
  twice->enqueue();
  twice->enqueue();
  EXPECT_THAT(finish(twice), HasSubstr("enqueue: command buffer is already enqueued"));

  auto* two_encoders = queue->commandBuffer();
  auto* open = two_encoders->computeCommandEncoder();
  EXPECT_EQ(two_encoders->blitCommandEncoder(), nullptr);
  open->endEncoding();
  EXPECT_THAT(finish(two_encoders), HasSubstr("another encoder of the command buffer is open"));

  auto* still_open = queue->commandBuffer();
  auto* left = still_open->computeCommandEncoder();
  EXPECT_THAT(finish(still_open), HasSubstr("an encoder is still open"));
  left->endEncoding();

  auto* late = queue->commandBuffer();
  EXPECT_EQ(finish(late), "");
  EXPECT_EQ(late->computeCommandEncoder(), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("is already committed"));
  late->addCompletedHandler([](MTL::CommandBuffer*) {});
  EXPECT_THAT(messages().back(), HasSubstr("add handlers before commit"));

  auto* waiting = queue->commandBuffer();
  waiting->waitUntilCompleted();
  EXPECT_THAT(messages().back(), HasSubstr("not committed, so the wait would never end"));
}

TEST_F(CommandBufferTest, AnEncoderReleasedBeforeItsEndIsAnError) {
  auto commands = NS::RetainPtr(queue->commandBuffer());
  auto* pool = NS::AutoreleasePool::alloc()->init();
  commands->computeCommandEncoder();
  pool->release();
  EXPECT_THAT(finish(commands.get()), HasSubstr("released before endEncoding"));
}

TEST_F(CommandBufferTest, NothingOfAWrongBufferRuns) {
  validate();
  auto data = buffer(4);
  auto* commands = queue->commandBuffer();
  encode_fill(commands, data.get(), 9);
  commands->popDebugGroup();
  EXPECT_NE(finish(commands), "");
  EXPECT_EQ(*static_cast<uint8_t*>(data->contents()), 0);
  auto* next = queue->commandBuffer();
  encode_fill(next, data.get(), 5);
  EXPECT_EQ(finish(next), "");  // later buffers of the queue still run
  EXPECT_EQ(*static_cast<uint8_t*>(data->contents()), 5);
}

TEST_F(CommandBufferTest, OnlyTheFirstViolationIsKept) {
  validate();
  auto* commands = queue->commandBuffer();
  commands->encodeWait(nullptr, 1);
  commands->popDebugGroup();
  EXPECT_THAT(finish(commands), HasSubstr("encodeWait: null event"));
  EXPECT_EQ(messages().size(), 2u);
}

TEST_F(CommandBufferTest, ErrorsNameTheEncodersWhenAsked) {
  validate();
  auto descriptor = TransferPtr(MTL::CommandBufferDescriptor::alloc()->init());
  descriptor->setErrorOptions(MTL::CommandBufferErrorOptionEncoderExecutionStatus);
  auto* commands = queue->commandBuffer(descriptor.get());
  auto* encoder = commands->computeCommandEncoder();
  encoder->setLabel(string("layer 3"));
  encoder->insertDebugSignpost(string("here"));
  encoder->setBufferOffset(0, 0);
  encoder->endEncoding();
  EXPECT_THAT(finish(commands), HasSubstr("no buffer is bound at index 0"));
  auto* infos =
      commands->error()->userInfo()->object<NS::Array>(MTL::CommandBufferEncoderInfoErrorKey);
  ASSERT_EQ(infos->count(), 1u);
  auto* info = infos->object<MTL::CommandBufferEncoderInfo>(0);
  EXPECT_EQ(text(info->label()), "layer 3");
  EXPECT_EQ(info->errorState(), MTL::CommandEncoderErrorStateFaulted);
  EXPECT_EQ(info->debugSignposts()->count(), 1u);
}

TEST_F(CommandBufferTest, LabelsAppearInErrors) {
  validate();
  auto* commands = queue->commandBuffer();
  commands->setLabel(string("prefill"));
  commands->enqueue();
  commands->enqueue();
  EXPECT_THAT(finish(commands), HasSubstr("command buffer 'prefill' is already enqueued"));
}

TEST_F(CommandBufferTest, ManyThreadsUseOneQueue) {
  std::atomic<int> completed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        auto* pool = NS::AutoreleasePool::alloc()->init();
        auto* commands = queue->commandBuffer();
        commands->addCompletedHandler([&](MTL::CommandBuffer*) { ++completed; });
        EXPECT_EQ(finish(commands), "");
        pool->release();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(completed, 100);
}

}  // namespace
}  // namespace mlxn_test
