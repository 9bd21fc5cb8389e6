// Unretained references, memory of pending work, deallocators.
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "api_test.h"

namespace mlxn_test {
namespace {

using ::testing::HasSubstr;

class UnretainedTest : public ApiTest {
 protected:
  UnretainedTest() : ApiTest("null", true) {}

  // Commits behind an event, calls `release`, lets the buffer run; gives its error.
  template <class Encode, class Release>
  std::string run(Encode encode, Release release) {
    auto event = TransferPtr(device->newSharedEvent());
    auto commands = NS::RetainPtr(queue->commandBufferWithUnretainedReferences());
    EXPECT_FALSE(commands->retainedReferences());
    commands->encodeWait(event.get(), 1);
    encode(commands.get());
    commands->commit();
    release();
    event->setSignaledValue(1);
    commands->waitUntilCompleted();
    return commands->error() ? text(commands->error()) : "";
  }
};

TEST_F(UnretainedTest, LiveObjectsRun) {
  auto data = buffer(16);
  auto state = any_pipeline();
  EXPECT_EQ(run(
                [&](MTL::CommandBuffer* commands) {
                  auto* encoder = commands->computeCommandEncoder();
                  encoder->setComputePipelineState(state.get());
                  encoder->setBuffer(data.get(), 0, 3);
                  encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
                  encoder->endEncoding();
                },
                [] {}),
            "");
  EXPECT_EQ(data->retainCount(), 1u);
}

TEST_F(UnretainedTest, DoesNotRetain) {
  auto data = buffer(16);
  auto* commands = queue->commandBufferWithUnretainedReferences();
  auto* blit = commands->blitCommandEncoder();
  blit->fillBuffer(data.get(), NS::Range(0, 16), 1);
  blit->endEncoding();
  EXPECT_EQ(data->retainCount(), 1u);
  EXPECT_EQ(finish(commands), "");
}

TEST_F(UnretainedTest, AReleasedBufferIsNamed) {
  auto data = buffer(16);
  auto state = any_pipeline();
  data->setLabel(string("x"));
  EXPECT_EQ(
      run(
          [&](MTL::CommandBuffer* commands) {
            auto* encoder = commands->computeCommandEncoder();
            encoder->setComputePipelineState(state.get());
            encoder->setBuffer(data.get(), 0, 3);
            encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
            encoder->endEncoding();
          },
          [&] { data.reset(); }),
      "buffer 'x' bound at index 3 of dispatch 'k' was released before the command buffer ran");
}

TEST_F(UnretainedTest, AReleasedPipelineIsNamed) {
  auto state = any_pipeline();
  EXPECT_EQ(run(
                [&](MTL::CommandBuffer* commands) {
                  auto* encoder = commands->computeCommandEncoder();
                  encoder->setComputePipelineState(state.get());
                  encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
                  encoder->endEncoding();
                },
                [&] { state.reset(); }),
            "pipeline of dispatch 'k' was released before the command buffer ran");
}

TEST_F(UnretainedTest, ReleasedBlitAndDeclaredResourcesAreNamed) {
  auto data = buffer(16);
  EXPECT_THAT(run(
                  [&](MTL::CommandBuffer* commands) {
                    auto* blit = commands->blitCommandEncoder();
                    blit->fillBuffer(data.get(), NS::Range(0, 16), 1);
                    blit->endEncoding();
                  },
                  [&] { data.reset(); }),
              HasSubstr("buffer used by fillBuffer was released"));
  data = buffer(16);
  auto state = any_pipeline();
  EXPECT_THAT(run(
                  [&](MTL::CommandBuffer* commands) {
                    auto* encoder = commands->computeCommandEncoder();
                    encoder->useResource(data.get(), MTL::ResourceUsageRead);
                    encoder->setComputePipelineState(state.get());
                    encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
                    encoder->endEncoding();
                  },
                  [&] { data.reset(); }),
              HasSubstr("resource declared by useResource was released"));
}

TEST_F(UnretainedTest, HeapBuffersAreWatchedOneByOne) {
  auto descriptor = TransferPtr(MTL::HeapDescriptor::alloc()->init());
  descriptor->setSize(1024);
  descriptor->setResourceOptions(MTL::ResourceStorageModeShared);
  auto heap = TransferPtr(device->newHeap(descriptor.get()));
  auto data = TransferPtr(heap->newBuffer(16, MTL::ResourceStorageModeShared));
  EXPECT_THAT(run(
                  [&](MTL::CommandBuffer* commands) {
                    auto* blit = commands->blitCommandEncoder();
                    blit->fillBuffer(data.get(), NS::Range(0, 16), 1);
                    blit->endEncoding();
                  },
                  [&] { data.reset(); }),
              HasSubstr("was released before"));
}

TEST_F(UnretainedTest, OnlyWhatADispatchUsesIsWatched) {
  auto used = buffer(16), replaced = buffer(16), late = buffer(16);
  auto state = any_pipeline(), other = pipeline("kernel void other() {}", "other");
  EXPECT_EQ(run(
                [&](MTL::CommandBuffer* commands) {
                  auto* encoder = commands->computeCommandEncoder();
                  encoder->setComputePipelineState(other.get());
                  encoder->setComputePipelineState(state.get());
                  encoder->setBuffer(replaced.get(), 0, 0);
                  encoder->setBuffer(used.get(), 0, 0);
                  encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
                  encoder->setBuffer(late.get(), 0, 0);
                  encoder->endEncoding();
                },
                [&] {
                  replaced.reset();
                  late.reset();
                  other.reset();
                }),
            "");
}

TEST_F(UnretainedTest, ABufferReleasedBeforeTheDispatchIsNamed) {
  auto state = any_pipeline();
  auto data = buffer(16);
  EXPECT_EQ(run(
                [&](MTL::CommandBuffer* commands) {
                  auto* encoder = commands->computeCommandEncoder();
                  encoder->setComputePipelineState(state.get());
                  encoder->setBuffer(data.get(), 0, 2);
                  data.reset();
                  encoder->setBufferOffset(8, 2);
                  encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
                  encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
                  encoder->endEncoding();
                },
                [] {}),
            "buffer bound at index 2 of dispatch 'k' was released before the command buffer ran");
}

TEST_F(UnretainedTest, AReleasedIndirectBufferIsNamed) {
  auto state = any_pipeline();
  auto data = buffer(16);
  EXPECT_EQ(run(
                [&](MTL::CommandBuffer* commands) {
                  auto* encoder = commands->computeCommandEncoder();
                  encoder->setComputePipelineState(state.get());
                  encoder->dispatchThreadgroups(data.get(), 0, MTL::Size(1, 1, 1));
                  encoder->endEncoding();
                },
                [&] { data.reset(); }),
            "buffer with indirect arguments of 'k' was released before the command buffer ran");
}

class LifetimeTest : public ApiTest {};

// Two command buffers take turns with the same buffers; each keeps them on its own.
TEST_F(LifetimeTest, InterleavedCommandBuffersKeepWhatTheyUse) {
  auto state = any_pipeline();
  auto event = TransferPtr(device->newSharedEvent());
  auto data = buffer(16);
  Ptr<MTL::CommandBuffer> commands[2];
  MTL::ComputeCommandEncoder* encoders[2];
  for (int i = 0; i < 2; ++i) {
    commands[i] = NS::RetainPtr(queue->commandBuffer());
    commands[i]->encodeWait(event.get(), 1);
    encoders[i] = commands[i]->computeCommandEncoder();
    encoders[i]->setComputePipelineState(state.get());
  }
  for (int i = 0; i < 6; ++i) {
    encoders[i % 2]->setBuffer(data.get(), 0, 0);
    encoders[i % 2]->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
  }
  for (int i = 0; i < 2; ++i) {
    encoders[i]->endEncoding();
    commands[i]->commit();
  }
  EXPECT_GT(data->retainCount(), 1u);
  event->setSignaledValue(1);
  for (auto& one : commands) one->waitUntilCompleted();
  EXPECT_EQ(data->retainCount(), 1u);
}

class RecordedLifetimeTest : public ApiTest {
 protected:
  RecordedLifetimeTest() : ApiTest("null") {}
};

TEST_F(RecordedLifetimeTest, ReusedStorageHoldsNothingOfThePast) {
  auto state = any_pipeline();
  auto data = buffer(64);
  const int value = 5;
  for (int i = 0; i < 20; ++i) {
    auto* commands =
        i % 3 == 0 ? queue->commandBufferWithUnretainedReferences() : queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(state.get());
    if (i % 2 == 0) {
      encoder->setBuffer(data.get(), 0, 1);
      encoder->setBytes(&value, sizeof value, 2);
      encoder->setThreadgroupMemoryLength(16, 0);
    }
    encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
    encoder->endEncoding();
    EXPECT_EQ(finish(commands), "");
    EXPECT_THAT(mlxn::metal::take_recorded_commands(device.get()),
                ::testing::ElementsAre("list ", i % 2 == 0 ? "dispatch k 1x1x1 in 1x1x1 1:0+64 "
                                                             "2:bytes(4) tg0:16"
                                                           : "dispatch k 1x1x1 in 1x1x1"));
    EXPECT_EQ(data->retainCount(), 1u);
  }
}

TEST_F(LifetimeTest, ABufferMayGoBetweenBindingAndDispatch) {
  auto state = any_pipeline();
  auto data = buffer(16);
  auto* commands = queue->commandBuffer();
  auto* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(state.get());
  encoder->setBuffer(data.get(), 0, 0);
  data.reset();
  encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
  encoder->endEncoding();
  EXPECT_EQ(finish(commands), "");
}

TEST_F(LifetimeTest, TheDeallocatorWaitsForPendingWork) {
  if (!wraps_host_memory()) GTEST_SKIP() << "buffers without a copy need unified memory";
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory = std::aligned_alloc(page, page);
  std::atomic<int> freed = 0;
  std::atomic<int>* counter = &freed;
  // Apple takes a block, our headers also a std::function.
#ifdef __BLOCKS__
  auto deallocator = ^(void*, NS::UInteger) {
    ++*counter;
  };
#else
  const std::function<void(void*, NS::UInteger)> deallocator = [=](void* bytes, NS::UInteger size) {
    EXPECT_EQ(bytes, memory);
    EXPECT_EQ(size, page);
    ++*counter;
  };
#endif
  auto data =
      TransferPtr(device->newBuffer(memory, page, MTL::ResourceStorageModeShared, deallocator));
  ASSERT_TRUE(data);
  auto event = TransferPtr(device->newSharedEvent());
  auto commands = NS::RetainPtr(queue->commandBuffer());
  commands->encodeWait(event.get(), 1);
  auto* blit = commands->blitCommandEncoder();
  blit->fillBuffer(data.get(), NS::Range(0, page), 5);
  blit->endEncoding();
  commands->commit();
  data.reset();
  EXPECT_EQ(freed, 0);
  event->setSignaledValue(1);
  commands->waitUntilCompleted();
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(static_cast<uint8_t*>(memory)[page - 1], 5);
  std::free(memory);
}

TEST_F(LifetimeTest, ReleasingEverythingEarlyIsSafe) {
  auto event = TransferPtr(device->newSharedEvent());
  auto data = buffer(16);
  auto state = any_pipeline();
  auto commands = NS::RetainPtr(queue->commandBuffer());
  commands->encodeWait(event.get(), 1);
  auto* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(state.get());
  encoder->setBuffer(data.get(), 0, 0);
  encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
  encoder->endEncoding();
  commands->commit();
  data.reset();
  state.reset();
  queue.reset();
  device.reset();
  renew_pool();
  event->setSignaledValue(1);
  commands->waitUntilCompleted();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusCompleted) << text(commands->error());
}

}  // namespace
}  // namespace mlxn_test
