// compat: excluded (devices with options and the replay of captures are ours)
// What indirect command buffers run.
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "indirect_fixture.h"

namespace mlxn_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(IndirectTest, DescriptorsKeepWhatIsSet) {
  auto descriptor = TransferPtr(MTL::IndirectCommandBufferDescriptor::alloc()->init());
  descriptor->setCommandTypes(kBoth);
  descriptor->setInheritPipelineState(true);
  descriptor->setInheritBuffers(true);
  descriptor->setMaxKernelBufferBindCount(7);
  descriptor->setMaxKernelThreadgroupMemoryBindCount(2);
  auto copy = TransferPtr(descriptor->copy());
  descriptor->setMaxKernelBufferBindCount(8);
  EXPECT_EQ(copy->commandTypes(), kBoth);
  EXPECT_TRUE(copy->inheritPipelineState());
  EXPECT_TRUE(copy->inheritBuffers());
  EXPECT_EQ(copy->maxKernelBufferBindCount(), 7u);
  EXPECT_EQ(copy->maxKernelThreadgroupMemoryBindCount(), 2u);
  auto commands = make(5);
  EXPECT_EQ(commands->size(), 5u);
  EXPECT_EQ(commands->device(), device.get());
  commands->setLabel(string("plan"));
  EXPECT_EQ(text(commands->label()), "plan");
  EXPECT_TRUE(next->supportIndirectCommandBuffers());
  EXPECT_FALSE(state("next", false)->supportIndirectCommandBuffers());
}

TEST_F(IndirectTest, RunsCommandsOfBothKinds) {
  auto in = ints({0, 1, 2, 3, 4, 5, 6, 7}), scaled = ints(std::vector<int>(8)),
       turned = ints(std::vector<int>(8)), settings = ints({0, 0, 3, 10});
  auto commands = make(2);
  auto* first = commands->indirectComputeCommand(0);
  first->setComputePipelineState(scale.get());
  first->setKernelBuffer(in.get(), 0, 0);
  first->setKernelBuffer(scaled.get(), 16, 1);
  first->setKernelBuffer(settings.get(), 8, 2);
  first->concurrentDispatchThreads(kFour, kFour);
  auto* second = commands->indirectComputeCommand(1);
  second->setComputePipelineState(turn.get());
  second->setKernelBuffer(in.get(), 0, 0);
  second->setKernelBuffer(turned.get(), 0, 1);
  second->setThreadgroupMemoryLength(16, 0);
  second->concurrentDispatchThreadgroups(MTL::Size(2, 1, 1), kFour);
  EXPECT_EQ(execute(commands, NS::Range(0, 2), {in.get(), scaled.get(), turned.get()}), "");
  EXPECT_THAT(read(scaled), ElementsAre(0, 0, 0, 0, 10, 13, 16, 19));
  EXPECT_THAT(read(turned), ElementsAre(3, 2, 1, 0, 7, 6, 5, 4));
}

// Each command adds one to what the one before made.
TEST_F(IndirectTest, BarriersOrderCommands) {
  constexpr int kCommands = 80;  // more than a segment of the CPU holds
  auto result = [&](bool barriers, uint64_t seed) {
    use_device({.worker_count = 2, .schedule_seed = seed});
    std::vector<Ptr<MTL::Buffer>> row;
    for (int i = 0; i <= kCommands; ++i) row.push_back(ints(std::vector<int>(4)));
    auto commands = make(kCommands);
    for (int i = 0; i < kCommands; ++i) {
      put_next(commands, i, row[i], row[i + 1]);
      auto* command = commands->indirectComputeCommand(i);
      command->setBarrier();
      if (!barriers) command->clearBarrier();
    }
    EXPECT_EQ(execute(commands), "");
    return read(row.back());
  };
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_THAT(result(true, seed), Each(kCommands));
    EXPECT_THAT(result(false, seed), testing::Not(Each(kCommands))) << "the order is shuffled";
  }
}

TEST_F(IndirectTest, EmptyPlacesAreSkipped) {
  auto zero = ints(std::vector<int>(4));
  std::vector<Ptr<MTL::Buffer>> out;
  auto commands = make(5);
  for (int i = 0; i < 5; ++i) {
    out.push_back(ints(std::vector<int>(4)));
    if (i != 2) put_next(commands, i, zero, out[i]);
  }
  commands->reset(NS::Range(0, 1));
  commands->indirectComputeCommand(3)->reset();
  EXPECT_EQ(execute(commands, NS::Range(0, 4)), "");
  for (int i : {0, 2, 3, 4}) EXPECT_THAT(read(out[i]), Each(0)) << i;
  EXPECT_THAT(read(out[1]), Each(1));
  EXPECT_EQ(execute(commands, NS::Range(4, 1)), "");
  EXPECT_THAT(read(out[4]), Each(1));
}

TEST_F(IndirectTest, InheritsWhatTheEncoderHas) {
  auto in = ints({1, 2, 3, 4}), out = ints(std::vector<int>(8));
  auto descriptor = describe();
  descriptor->setInheritPipelineState(true);
  descriptor->setInheritBuffers(true);
  auto commands = make(1, descriptor);
  commands->indirectComputeCommand(0)->concurrentDispatchThreads(kFour, kFour);
  auto* buffer = queue->commandBuffer();
  auto* encoder = buffer->computeCommandEncoder();
  for (int i = 0; i < 2; ++i) {  // state as it is when the commands are executed
    const int settings[] = {10 + i, i};
    encoder->setComputePipelineState(scale.get());
    encoder->setBuffer(in.get(), 0, 0);
    encoder->setBuffer(out.get(), 16 * i, 1);
    encoder->setBytes(settings, sizeof(settings), 2);
    encoder->executeCommandsInBuffer(commands.get(), NS::Range(0, 1));
  }
  encoder->setComputePipelineState(next.get());
  encoder->endEncoding();
  EXPECT_EQ(finish(buffer), "");
  EXPECT_THAT(read(out), ElementsAre(10, 20, 30, 40, 12, 23, 34, 45));
}

// A serial encoder takes an execution for one dispatch.
TEST_F(IndirectTest, IsOrderedInASerialEncoder) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    use_device({.worker_count = 2, .schedule_seed = seed});
    std::vector<Ptr<MTL::Buffer>> row;
    for (int i = 0; i < 4; ++i) row.push_back(ints(std::vector<int>(4)));
    auto commands = make(1);
    put_next(commands, 0, row[1], row[2]);
    auto* buffer = queue->commandBuffer();
    auto* encoder = buffer->computeCommandEncoder();
    encoder->setComputePipelineState(next.get());
    for (int i : {0, 1, 2}) {
      if (i == 1) {
        use(encoder, {row[1].get(), row[2].get()});
        encoder->executeCommandsInBuffer(commands.get(), NS::Range(0, 1));
        continue;
      }
      encoder->setBuffer(row[i].get(), 0, 0);
      encoder->setBuffer(row[i + 1].get(), 0, 1);
      encoder->dispatchThreads(kFour, kFour);
    }
    encoder->endEncoding();
    EXPECT_EQ(finish(buffer), "");
    EXPECT_THAT(read(row[3]), Each(3));
  }
}

TEST_F(IndirectTest, RunsInManyCommandBuffersAtOnce) {
  auto in = ints({1, 2, 3, 4});
  auto other = TransferPtr(device->newCommandQueue());
  std::vector<Ptr<MTL::Buffer>> out;
  auto commands = make(8);
  for (int i = 0; i < 8; ++i) {
    out.push_back(ints(std::vector<int>(4)));
    put_next(commands, i, in, out[i]);
  }
  std::vector<MTL::CommandBuffer*> buffers;
  for (int i = 0; i < 16; ++i) {
    auto* buffer = (i % 2 ? queue : other)->commandBuffer();
    auto* encoder = buffer->computeCommandEncoder(MTL::DispatchTypeConcurrent);
    encoder->executeCommandsInBuffer(commands.get(), NS::Range(i % 8, 1));
    encoder->executeCommandsInBuffer(commands.get(), NS::Range(0, 8));
    encoder->endEncoding();
    buffer->commit();
    buffers.push_back(buffer);
  }
  for (auto* buffer : buffers) {
    buffer->waitUntilCompleted();
    EXPECT_EQ(buffer->status(), MTL::CommandBufferStatusCompleted);
  }
  for (const auto& one : out) EXPECT_THAT(read(one), ElementsAre(2, 3, 4, 5));
}

// What counts is what the commands are when the command buffer runs.
TEST_F(IndirectTest, ChangesCountUntilItRuns) {
  auto a = ints({1, 2, 3, 4}), b = ints({10, 20, 30, 40}), out = ints(std::vector<int>(4));
  auto commands = make(2);
  put_next(commands, 0, a, out);
  auto* buffer = queue->commandBuffer();
  auto* encoder = buffer->computeCommandEncoder();
  encoder->executeCommandsInBuffer(commands.get(), NS::Range(0, 2));
  encoder->endEncoding();
  commands->indirectComputeCommand(0)->setKernelBuffer(b.get(), 0, 0);
  EXPECT_EQ(finish(buffer), "");
  EXPECT_THAT(read(out), ElementsAre(11, 21, 31, 41));
  commands->indirectComputeCommand(0)->setKernelBuffer(a.get(), 0, 0);
  EXPECT_EQ(execute(commands), "");
  EXPECT_THAT(read(out), ElementsAre(2, 3, 4, 5));
}

// Wrong in Metal, and never a crash.
TEST_F(IndirectTest, ChangesInFlightAreHarmless) {
  auto in = ints({1, 2, 3, 4}), out = ints(std::vector<int>(4));
  auto commands = make(64);
  std::vector<MTL::CommandBuffer*> buffers;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 64; ++i) put_next(commands, i, in, out);
    auto* buffer = queue->commandBuffer();
    auto* encoder = buffer->computeCommandEncoder();
    encoder->executeCommandsInBuffer(commands.get(), NS::Range(0, 64));
    encoder->endEncoding();
    buffer->commit();
    commands->reset(NS::Range(round, 32));
    buffers.push_back(buffer);
  }
  for (auto* buffer : buffers) {
    buffer->waitUntilCompleted();
    EXPECT_EQ(buffer->status(), MTL::CommandBufferStatusCompleted);
  }
}

TEST_F(IndirectTest, ThreadsEncodeCommandsAtOnce) {
  constexpr int kThreads = 4, kEach = 16;
  auto in = ints({1, 2, 3, 4});
  std::vector<Ptr<MTL::Buffer>> out;
  for (int i = 0; i < kThreads * kEach; ++i) out.push_back(ints(std::vector<int>(4)));
  auto commands = make(kThreads * kEach);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      auto* pool = NS::AutoreleasePool::alloc()->init();
      for (int i = t * kEach; i < (t + 1) * kEach; ++i) put_next(commands, i, in, out[i]);
      pool->release();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(execute(commands), "");
  for (const auto& one : out) EXPECT_THAT(read(one), ElementsAre(2, 3, 4, 5));
}

TEST_F(IndirectTest, TheRangeMayComeFromABuffer) {
  auto zero = ints(std::vector<int>(4)), range = ints({0, 0, 3, 9});
  std::vector<Ptr<MTL::Buffer>> out;
  auto commands = make(4);
  for (int i = 0; i < 4; ++i) {
    out.push_back(ints(std::vector<int>(4)));
    put_next(commands, i, zero, out[i]);
  }
  auto* buffer = queue->commandBuffer();
  auto* encoder = buffer->computeCommandEncoder();  // serial: the kernel's range counts
  encoder->setComputePipelineState(state("choose").get());
  encoder->setBuffer(range.get(), 0, 0);
  encoder->dispatchThreads(kOne, kOne);
  encoder->executeCommandsInBuffer(commands.get(), range.get(), 0);
  encoder->endEncoding();
  EXPECT_EQ(finish(buffer), "");
  for (int i = 0; i < 4; ++i) EXPECT_THAT(read(out[i]), Each(i == 1 || i == 2 ? 1 : 0)) << i;
  buffer = queue->commandBuffer();
  encoder = buffer->computeCommandEncoder();
  encoder->executeCommandsInBuffer(commands.get(), range.get(), 8);  // beyond the end
  encoder->endEncoding();
  EXPECT_EQ(finish(buffer), "");
  EXPECT_THAT(read(out[3]), Each(1));
  EXPECT_THAT(read(out[0]), Each(0));
}

TEST_F(IndirectTest, BlitsChangeCommandsInOrder) {
  auto in = ints({1, 2, 3, 4}), x = ints(std::vector<int>(4)), y = ints(std::vector<int>(4)),
       z = ints(std::vector<int>(4)), w = ints(std::vector<int>(4));
  auto source = make(2), target = make(3);
  put_next(source, 0, in, x);
  put_next(source, 1, in, y);
  put_next(target, 0, in, z);
  put_next(target, 1, in, w);
  auto* buffer = queue->commandBuffer();
  auto run = [&](NS::UInteger place) {
    auto* encoder = buffer->computeCommandEncoder();
    encoder->executeCommandsInBuffer(target.get(), NS::Range(place, 1));
    encoder->endEncoding();
  };
  run(0);
  run(1);  // as it is in front of the blits: w
  auto* blit = buffer->blitCommandEncoder();
  blit->fillBuffer(y.get(), NS::Range(0, 16), 7);
  blit->copyIndirectCommandBuffer(source.get(), NS::Range(0, 2), target.get(), 1);
  blit->fillBuffer(x.get(), NS::Range(0, 16), 7);
  blit->resetCommandsInBuffer(target.get(), NS::Range(1, 1));
  blit->optimizeIndirectCommandBuffer(target.get(), NS::Range(0, 3));
  blit->endEncoding();
  run(1);  // was reset: x stays
  run(2);
  EXPECT_EQ(finish(buffer), "");
  EXPECT_THAT(read(z), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(read(w), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(read(x), Each(0x07070707));
  EXPECT_THAT(read(y), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(execute(source, NS::Range(0, 2)), "") << "what was copied is still there";
  EXPECT_THAT(read(x), ElementsAre(2, 3, 4, 5));
}

TEST_F(IndirectTest, ACopyWithinOneBufferMayOverlap) {
  auto in = ints({1, 2, 3, 4}), x = ints(std::vector<int>(4)), y = ints(std::vector<int>(4));
  auto commands = make(3);
  put_next(commands, 0, in, x);
  put_next(commands, 1, in, y);
  auto* buffer = queue->commandBuffer();
  auto* blit = buffer->blitCommandEncoder();
  blit->copyIndirectCommandBuffer(commands.get(), NS::Range(0, 2), commands.get(), 1);
  blit->endEncoding();
  EXPECT_EQ(finish(buffer), "");
  EXPECT_EQ(execute(commands, NS::Range(2, 1)), "");
  EXPECT_THAT(read(y), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(read(x), Each(0));
}

// The command buffer keeps the commands, and they keep memory and code.
TEST_F(IndirectTest, ReleasedObjectsAreNotMissedByWork) {
  for (bool retained : {true, false}) {
    auto in = ints({1, 2, 3, 4}), out = ints(std::vector<int>(4));
    auto commands = make(1);
    put_next(commands, 0, in, out);
    auto event = TransferPtr(device->newSharedEvent());
    auto* buffer =
        retained ? queue->commandBuffer() : queue->commandBufferWithUnretainedReferences();
    buffer->encodeWait(event.get(), 1);
    auto* encoder = buffer->computeCommandEncoder();
    encoder->executeCommandsInBuffer(commands.get(), NS::Range(0, 1));
    encoder->endEncoding();
    buffer->commit();
    if (retained) commands.reset();
    in.reset();
    event->setSignaledValue(1);
    buffer->waitUntilCompleted();
    EXPECT_EQ(buffer->status(), MTL::CommandBufferStatusCompleted) << text(buffer->error());
    EXPECT_THAT(read(out), ElementsAre(2, 3, 4, 5));
  }
}

TEST_F(IndirectTest, AFaultNamesTheCommand) {
  use_device({.worker_count = 2, .guard_memory = 2});
  auto out = ints(std::vector<int>(4)), count = ints({4});  // the guard begins behind the fourth
  auto commands = make(2);
  auto* command = commands->indirectComputeCommand(1);
  command->setComputePipelineState(state("past").get());
  command->setKernelBuffer(out.get(), 0, 0);
  command->setKernelBuffer(count.get(), 0, 1);
  command->concurrentDispatchThreads(kOne, kOne);
  EXPECT_THAT(execute(commands), testing::AllOf(HasSubstr("place 1"), HasSubstr("\"past\"")));
}

TEST_F(IndirectTest, TimestampsStandAroundIt) {
  auto in = ints({1, 2, 3, 4}), out = ints(std::vector<int>(4));
  auto commands = make(1);
  put_next(commands, 0, in, out);
  auto descriptor = TransferPtr(MTL::CounterSampleBufferDescriptor::alloc()->init());
  descriptor->setCounterSet(device->counterSets()->object<MTL::CounterSet>(0));
  descriptor->setStorageMode(MTL::StorageModeShared);
  descriptor->setSampleCount(2);
  NS::Error* error = nullptr;
  auto samples = TransferPtr(device->newCounterSampleBuffer(descriptor.get(), &error));
  ASSERT_TRUE(samples) << text(error);
  auto* buffer = queue->commandBuffer();
  auto* encoder = buffer->computeCommandEncoder(MTL::DispatchTypeConcurrent);
  encoder->sampleCountersInBuffer(samples.get(), 0, true);
  encoder->executeCommandsInBuffer(commands.get(), NS::Range(0, 1));
  encoder->sampleCountersInBuffer(samples.get(), 1, true);
  encoder->endEncoding();
  EXPECT_EQ(finish(buffer), "");
  const auto* times =
      static_cast<const uint64_t*>(samples->resolveCounterRange(NS::Range(0, 2))->mutableBytes());
  EXPECT_NE(times[0], 0u);
  EXPECT_LE(times[0], times[1]);
  EXPECT_THAT(read(out), ElementsAre(2, 3, 4, 5));
}

TEST_F(IndirectTest, AnInjectedFaultFailsIt) {
  auto in = ints({1, 2, 3, 4}), out = ints(std::vector<int>(4));
  auto commands = make(1);
  put_next(commands, 0, in, out);
  mlxn::metal::inject_fault(device.get(), mlxn::metal::Fault::kRun);
  EXPECT_THAT(execute(commands), HasSubstr("injected failure of a run"));
  EXPECT_THAT(read(out), Each(0));
  EXPECT_EQ(execute(commands), "");
}

class CapturedIndirectTest : public IndirectTest {
 protected:
  void SetUp() override {
    IndirectTest::SetUp();
    folder_ = std::filesystem::temp_directory_path() /
              ("mlxn-indirect-" + std::to_string(getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override {
    manager()->stopCapture();
    std::filesystem::remove_all(folder_);
    IndirectTest::TearDown();
  }

  static MTL::CaptureManager* manager() { return MTL::CaptureManager::sharedCaptureManager(); }
  std::string path() const { return (folder_ / "frame").string(); }
  void start() {
    auto descriptor = TransferPtr(MTL::CaptureDescriptor::alloc()->init());
    descriptor->setCaptureObject(queue.get());
    descriptor->setDestination(MTL::CaptureDestinationGPUTraceDocument);
    descriptor->setOutputURL(NS::URL::fileURLWithPath(string(path())));
    NS::Error* error = nullptr;
    ASSERT_TRUE(manager()->startCapture(descriptor.get(), &error)) << text(error);
  }
  mlxn::metal::ReplayReport replay() {
    mlxn::metal::ReplayReport report;
    NS::Error* error = nullptr;
    EXPECT_TRUE(mlxn::metal::replay_capture(device.get(), path().c_str(), &report, &error))
        << text(error);
    EXPECT_EQ(report.mismatching_memories, 0u) << report.first_mismatch;
    return report;
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(CapturedIndirectTest, HoldsWhatWasExecuted) {
  auto in = ints({1, 2, 3, 4}), out = ints(std::vector<int>(4)), last = ints(std::vector<int>(4));
  auto commands = make(2);
  put_next(commands, 0, in, out);
  put_next(commands, 1, out, last);
  commands->indirectComputeCommand(1)->setBarrier();
  auto inheriting = describe();
  inheriting->setInheritPipelineState(true);
  inheriting->setInheritBuffers(true);
  auto bare = make(1, inheriting);
  bare->indirectComputeCommand(0)->concurrentDispatchThreads(kFour, kFour);
  start();
  auto* buffer = queue->commandBuffer();
  auto* encoder = buffer->computeCommandEncoder();
  const int settings[] = {2, 5}, unused[] = {9, 9};
  encoder->setComputePipelineState(scale.get());
  encoder->setBytes(unused, sizeof(unused), 3);
  encoder->setBuffer(last.get(), 0, 0);
  encoder->setBuffer(out.get(), 0, 1);
  encoder->setBytes(settings, sizeof(settings), 2);
  encoder->executeCommandsInBuffer(commands.get(), NS::Range(0, 2));
  encoder->executeCommandsInBuffer(bare.get(), NS::Range(0, 1));
  encoder->endEncoding();
  EXPECT_EQ(finish(buffer), "");
  manager()->stopCapture();
  EXPECT_THAT(read(out), ElementsAre(11, 13, 15, 17));
  const auto report = replay();
  EXPECT_EQ(report.dispatches, 3u);
  EXPECT_EQ(report.bytes_compared, 32u);
}

// Written by the host it is known when the list begins; written by the list itself it is not.
TEST_F(CapturedIndirectTest, TakesRangesThatAreKnown) {
  auto in = ints({1, 2, 3, 4}), out = ints(std::vector<int>(4)), range = ints({1, 1});
  auto commands = make(2);
  put_next(commands, 1, in, out);
  auto run = [&](bool written) {
    start();
    auto* buffer = queue->commandBuffer();
    if (written) {
      auto* blit = buffer->blitCommandEncoder();
      blit->fillBuffer(range.get(), NS::Range(0, 4), 0);
      blit->endEncoding();
    }
    auto* encoder = buffer->computeCommandEncoder();
    encoder->executeCommandsInBuffer(commands.get(), range.get(), 0);
    encoder->endEncoding();
    EXPECT_EQ(finish(buffer), "");
    manager()->stopCapture();
  };
  run(false);
  EXPECT_EQ(replay().dispatches, 1u);
  std::filesystem::remove(path());
  run(true);
  EXPECT_THAT(messages().back(), HasSubstr("an execution range is written by the command buffer"));
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(IndirectTest, TheNullExecutorSeesDispatches) {
  device = make_device("null");
  queue = TransferPtr(device->newCommandQueue());
  auto lib = library("kernel void k() {}");
  auto descriptor = TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
  descriptor->setComputeFunction(TransferPtr(lib->newFunction(string("k"))).get());
  descriptor->setSupportIndirectCommandBuffers(true);
  NS::Error* error = nullptr;
  auto k = TransferPtr(
      device->newComputePipelineState(descriptor.get(), MTL::PipelineOptionNone, nullptr, &error));
  auto data = buffer(64);
  auto commands = make(3);
  for (int i : {0, 2}) {
    auto* command = commands->indirectComputeCommand(i);
    command->setComputePipelineState(k.get());
    command->setKernelBuffer(data.get(), 16, 2);
    command->setThreadgroupMemoryLength(32, 0);
    command->setBarrier();
    command->concurrentDispatchThreadgroups(MTL::Size(2, 1, 1), kFour);
  }
  EXPECT_EQ(execute(commands), "");
  const std::string line = "dispatch k 8x1x1 in 4x1x1 2:16+48 tg0:32";
  EXPECT_THAT(mlxn::metal::take_recorded_commands(device.get()),
              ElementsAre("list ", "barrier", line, "barrier", line));
}

// Calls on null do nothing.
TEST_F(IndirectTest, NullObjectsAreHarmless) {
  auto* command = static_cast<MTL::IndirectComputeCommand*>(nullptr);
  command->setComputePipelineState(nullptr);
  command->setKernelBuffer(nullptr, 0, 0);
  command->setThreadgroupMemoryLength(16, 0);
  command->concurrentDispatchThreads(kOne, kOne);
  command->concurrentDispatchThreadgroups(kOne, kOne);
  command->setBarrier();
  command->clearBarrier();
  command->reset();
  auto* commands = static_cast<MTL::IndirectCommandBuffer*>(nullptr);
  EXPECT_EQ(commands->size(), 0u);
  EXPECT_EQ(commands->indirectComputeCommand(0), nullptr);
  commands->reset(NS::Range(0, 1));
}

}  // namespace
}  // namespace mlxn_test
