// compat: excluded (devices with options and the replay of captures are ours)
// Indirect command buffers for compute.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <thread>

#include "api_test.h"

namespace mlxn_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSource = R"(
#include <metal_stdlib>
using namespace metal;
struct Scale { int factor; int add; };

kernel void scale(device const int* in [[buffer(0)]], device int* out [[buffer(1)]],
                  constant Scale& s [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  out[i] = in[i] * s.factor + s.add;
}
kernel void next(device const int* in [[buffer(0)]], device int* out [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
  out[i] = in[i] + 1;
}
kernel void turn(device const int* in [[buffer(0)]], device int* out [[buffer(1)]],
                 threadgroup int* tile [[threadgroup(0)]],
                 uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]],
                 uint i [[thread_position_in_grid]]) {
  tile[t] = in[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = tile[n - 1 - t];
}
kernel void choose(device uint* range [[buffer(0)]]) { range[0] = 1; range[1] = 2; }
kernel void far(device int* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  out[(ulong)(i + 1) << 24] = 1;
}
)";

constexpr auto kBoth =
    MTL::IndirectCommandTypeConcurrentDispatch | MTL::IndirectCommandTypeConcurrentDispatchThreads;
const MTL::Size kOne(1, 1, 1), kFour(4, 1, 1);

class IndirectTest : public KernelTest {
 protected:
  explicit IndirectTest(Validation validation = {}) : KernelTest(validation) {}

  void SetUp() override {
    KernelTest::SetUp();
    load();
  }
  void TearDown() override {
    for (auto* state : {&scale, &next, &turn}) state->reset();
    lib_.reset();
    KernelTest::TearDown();
  }
  void load() {
    lib_ = library(kSource);
    scale = state("scale");
    next = state("next");
    turn = state("turn");
  }
  // Another device, with options of its own.
  void use_device(mlxn::metal::DeviceOptions options) {
    for (auto* state : {&scale, &next, &turn}) state->reset();
    lib_.reset();
    options.executor = executor_or("cpu");
    options.cache = false;
    NS::Error* error = nullptr;
    device = TransferPtr(mlxn::metal::create_device(options, &error));
    ASSERT_TRUE(device) << text(error);
    queue = TransferPtr(device->newCommandQueue());
    load();
  }

  Ptr<MTL::ComputePipelineState> state(const char* name, bool indirect = true) {
    auto descriptor = TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
    descriptor->setComputeFunction(TransferPtr(lib_->newFunction(string(name))).get());
    descriptor->setSupportIndirectCommandBuffers(indirect);
    NS::Error* error = nullptr;
    auto made = TransferPtr(device->newComputePipelineState(
        descriptor.get(), MTL::PipelineOptionNone, nullptr, &error));
    EXPECT_TRUE(made) << text(error);
    return made;
  }
  Ptr<MTL::Buffer> ints(std::vector<int> values) {
    return TransferPtr(device->newBuffer(values.data(), values.size() * sizeof(int),
                                         MTL::ResourceStorageModeShared));
  }
  static std::vector<int> read(const Ptr<MTL::Buffer>& from) {
    const auto* begin = static_cast<const int*>(from->contents());
    return {begin, begin + from->length() / sizeof(int)};
  }
  static Ptr<MTL::IndirectCommandBufferDescriptor> describe() {
    auto descriptor = TransferPtr(MTL::IndirectCommandBufferDescriptor::alloc()->init());
    descriptor->setCommandTypes(kBoth);
    descriptor->setInheritPipelineState(false);
    descriptor->setInheritBuffers(false);
    descriptor->setMaxKernelBufferBindCount(3);
    descriptor->setMaxKernelThreadgroupMemoryBindCount(1);
    return descriptor;
  }
  Ptr<MTL::IndirectCommandBuffer> make(NS::UInteger count) { return make(count, describe()); }
  Ptr<MTL::IndirectCommandBuffer> make(
      NS::UInteger count, const Ptr<MTL::IndirectCommandBufferDescriptor>& descriptor) {
    auto made = TransferPtr(
        device->newIndirectCommandBuffer(descriptor.get(), count, MTL::ResourceStorageModeShared));
    EXPECT_TRUE(made);
    return made;
  }
  // out = in + 1 for four numbers.
  void put_next(const Ptr<MTL::IndirectCommandBuffer>& commands, NS::UInteger at,
                const Ptr<MTL::Buffer>& in, const Ptr<MTL::Buffer>& out) {
    auto* command = commands->indirectComputeCommand(at);
    command->setComputePipelineState(next.get());
    command->setKernelBuffer(in.get(), 0, 0);
    command->setKernelBuffer(out.get(), 0, 1);
    command->concurrentDispatchThreads(kFour, kFour);
  }
  static void use(MTL::ComputeCommandEncoder* encoder, std::vector<MTL::Resource*> resources) {
    for (auto* one : resources) {
      encoder->useResource(one, MTL::ResourceUsageRead | MTL::ResourceUsageWrite);
    }
  }
  // Executes in an encoder of a command buffer of its own.
  std::string execute(const Ptr<MTL::IndirectCommandBuffer>& commands, NS::Range range,
                      std::vector<MTL::Resource*> used = {}) {
    auto* buffer = queue->commandBuffer();
    auto* encoder = buffer->computeCommandEncoder();
    use(encoder, used);
    encoder->executeCommandsInBuffer(commands.get(), range);
    encoder->endEncoding();
    return finish(buffer);
  }
  std::string execute(const Ptr<MTL::IndirectCommandBuffer>& commands) {
    return execute(commands, NS::Range(0, commands->size()));
  }

  Ptr<MTL::ComputePipelineState> scale, next, turn;

 private:
  Ptr<MTL::Library> lib_;
};

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

TEST_F(IndirectTest, WhatCannotBeMadeIsNull) {
  auto refused = [&](const Ptr<MTL::IndirectCommandBufferDescriptor>& descriptor,
                     NS::UInteger count) {
    EXPECT_FALSE(TransferPtr(
        device->newIndirectCommandBuffer(descriptor.get(), count, MTL::ResourceStorageModeShared)));
    return messages().back();
  };
  EXPECT_THAT(refused({}, 1), HasSubstr("newIndirectCommandBuffer: null descriptor"));
  EXPECT_THAT(refused(describe(), 0), HasSubstr("0 commands, expected 1 to"));
  EXPECT_THAT(refused(describe(), NS::UIntegerMax), HasSubstr("commands, expected 1 to"));
  auto draws = describe();
  draws->setCommandTypes(MTL::IndirectCommandTypeDraw);
  EXPECT_THAT(refused(draws, 1), HasSubstr("command types 1, expected ConcurrentDispatch"));
  EXPECT_EQ(make(2)->indirectComputeCommand(2), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("index 2, expected less than 2"));
  make(2)->reset(NS::Range(1, 2));
  EXPECT_THAT(messages().back(), HasSubstr("reset: range 1 + 2"));
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

TEST_F(IndirectTest, AWrongCommandFailsWhatExecutesIt) {
  auto in = ints({1, 2, 3, 4}), out = ints(std::vector<int>(4)), other = ints(std::vector<int>(4));
  auto commands = make(4);
  put_next(commands, 0, in, out);
  commands->indirectComputeCommand(1)->concurrentDispatchThreads(kFour, kFour);
  put_next(commands, 2, in, other);
  put_next(commands, 3, in, other);
  commands->indirectComputeCommand(3)->concurrentDispatchThreads(kFour, MTL::Size(5000, 1, 1));
  EXPECT_THAT(execute(commands),
              HasSubstr("indirect command 1: no pipeline; call setComputePipelineState first"));
  EXPECT_THAT(read(out), ElementsAre(2, 3, 4, 5)) << "commands in front of it ran";
  EXPECT_THAT(read(other), Each(0));
  EXPECT_THAT(execute(commands, NS::Range(3, 1)),
              HasSubstr("indirect command 3: kernel 'next': threads per threadgroup (5000, 1, 1)"));
  EXPECT_EQ(execute(commands, NS::Range(2, 1)), "");
  auto strange = make_device(executor_or("cpu"));
  auto foreign = TransferPtr(strange->newBuffer(16, MTL::ResourceStorageModeShared));
  commands->indirectComputeCommand(2)->setKernelBuffer(foreign.get(), 0, 0);
  EXPECT_THAT(execute(commands, NS::Range(2, 1)), HasSubstr("belongs to another device"));
  commands->indirectComputeCommand(2)->reset();
  put_next(commands, 2, in, other);
  commands->indirectComputeCommand(2)->setKernelBuffer(in.get(), 17, 0);
  EXPECT_THAT(execute(commands, NS::Range(2, 1)),
              HasSubstr("offset 17, expected at most the buffer's length 16"));
}

TEST_F(IndirectTest, AFaultNamesTheCommand) {
  use_device({.worker_count = 2, .guard_memory = 2});
  auto out = ints(std::vector<int>(4));
  auto commands = make(2);
  auto* command = commands->indirectComputeCommand(1);
  command->setComputePipelineState(state("far").get());
  command->setKernelBuffer(out.get(), 0, 0);
  command->concurrentDispatchThreads(kOne, kOne);
  EXPECT_THAT(execute(commands), testing::AllOf(HasSubstr("place 1"), HasSubstr("\"far\"")));
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

TEST_F(IndirectTest, ACaptureHoldsItsCommands) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("mlxn-indirect-" + std::to_string(getpid()));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string path = (folder / "frame").string();
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

  auto descriptor = TransferPtr(MTL::CaptureDescriptor::alloc()->init());
  descriptor->setCaptureObject(queue.get());
  descriptor->setDestination(MTL::CaptureDestinationGPUTraceDocument);
  descriptor->setOutputURL(NS::URL::fileURLWithPath(string(path)));
  NS::Error* error = nullptr;
  auto* manager = MTL::CaptureManager::sharedCaptureManager();
  ASSERT_TRUE(manager->startCapture(descriptor.get(), &error)) << text(error);
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
  manager->stopCapture();
  EXPECT_THAT(read(out), ElementsAre(11, 13, 15, 17));

  mlxn::metal::ReplayReport report;
  EXPECT_TRUE(mlxn::metal::replay_capture(device.get(), path.c_str(), &report, &error))
      << text(error);
  EXPECT_EQ(report.dispatches, 3u);
  EXPECT_EQ(report.mismatching_memories, 0u) << report.first_mismatch;
  EXPECT_EQ(report.bytes_compared, 32u);
  std::filesystem::remove_all(folder);
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

class StrictIndirectTest : public IndirectTest {
 protected:
  StrictIndirectTest() : IndirectTest(true) {}

  // The error of executing one command that `wrong` has changed.
  template <class Wrong>
  std::string error_of(Wrong wrong) {
    auto in = ints({1, 2, 3, 4}), out = ints(std::vector<int>(4));
    auto commands = make(1);
    put_next(commands, 0, in, out);
    wrong(commands->indirectComputeCommand(0), in);
    return execute(commands);
  }
};

TEST_F(StrictIndirectTest, WrongCommandsAreNamed) {
  using Command = MTL::IndirectComputeCommand;
  auto plain = state("next", false);
  EXPECT_EQ(error_of([](Command*, auto&) {}), "");
  EXPECT_THAT(
      error_of([&](Command* command, auto&) { command->setComputePipelineState(plain.get()); }),
      HasSubstr("setComputePipelineState: the pipeline was made without "
                "supportIndirectCommandBuffers"));
  EXPECT_THAT(messages().back(), HasSubstr("without supportIndirectCommandBuffers"));
  EXPECT_THAT(error_of([](Command* command, auto&) { command->setComputePipelineState(nullptr); }),
              HasSubstr("null pipeline state"));
  EXPECT_THAT(
      error_of([](Command* command, auto& in) { command->setKernelBuffer(in.get(), 0, 3); }),
      HasSubstr("setKernelBuffer: index 3, expected less than 3"));
  EXPECT_THAT(error_of([](Command* command, auto&) { command->setThreadgroupMemoryLength(16, 1); }),
              HasSubstr("setThreadgroupMemoryLength: index 1, expected less than 1"));
  EXPECT_THAT(error_of([](Command* command, auto&) { command->setThreadgroupMemoryLength(20, 0); }),
              HasSubstr("length 20, expected a multiple of 16"));
  EXPECT_THAT(error_of([](Command* command, auto&) { command->setKernelBuffer(nullptr, 0, 1); }),
              HasSubstr("kernel 'next': argument 'out' at buffer index 1 has no buffer bound"));
  EXPECT_THAT(error_of([](Command* command, auto&) {
                command->concurrentDispatchThreads(MTL::Size(0, 1, 1), kOne);
              }),
              HasSubstr("threads per grid (0, 1, 1)"));
}

TEST_F(StrictIndirectTest, WrongExecutionsAreNamed) {
  auto in = ints({1, 2, 3, 4}), out = ints(std::vector<int>(4));
  auto commands = make(2);
  put_next(commands, 0, in, out);
  EXPECT_THAT(
      execute(commands, NS::Range(1, 2)),
      HasSubstr("executeCommandsInBuffer: range 1 + 2, expected at least one within the 2"));
  EXPECT_THAT(execute(commands, NS::Range(0, 0)), HasSubstr("range 0 + 0"));
  EXPECT_THAT(execute({}, NS::Range(0, 1)), HasSubstr("null indirect command buffer"));
  auto inherit = describe();
  inherit->setInheritPipelineState(true);
  auto bare = make(1, inherit);
  bare->indirectComputeCommand(0)->concurrentDispatchThreads(kFour, kFour);
  EXPECT_THAT(execute(bare), HasSubstr("no pipeline; call setComputePipelineState first"));
  bare->indirectComputeCommand(0)->setComputePipelineState(next.get());
  EXPECT_THAT(messages().back(), HasSubstr("the pipeline is inherited"));
  auto* buffer = queue->commandBuffer();
  auto* encoder = buffer->computeCommandEncoder();
  encoder->executeCommandsInBuffer(commands.get(), out.get(), 12);
  encoder->endEncoding();
  EXPECT_THAT(finish(buffer), HasSubstr("range buffer offset 12"));
  buffer = queue->commandBuffer();
  auto* blit = buffer->blitCommandEncoder();
  blit->copyIndirectCommandBuffer(commands.get(), NS::Range(0, 2), commands.get(), 1);
  blit->endEncoding();
  EXPECT_THAT(finish(buffer), HasSubstr("copyIndirectCommandBuffer: range 1 + 2"));
  auto types = describe();
  types->setCommandTypes(MTL::IndirectCommandTypeConcurrentDispatch);
  auto groups = make(1, types);
  put_next(groups, 0, in, out);
  EXPECT_THAT(execute(groups), HasSubstr("concurrentDispatchThreads: not among the command types"));
}

TEST_F(StrictIndirectTest, AReleasedBufferIsNamed) {
  auto in = ints({1, 2, 3, 4}), out = ints(std::vector<int>(4));
  in->setLabel(string("input"));
  auto commands = make(1);
  put_next(commands, 0, in, out);
  in.reset();
  EXPECT_THAT(execute(commands), HasSubstr("buffer 'input' bound by a command was released"));
}

class LenientIndirectTest : public IndirectTest {
 protected:
  LenientIndirectTest() : IndirectTest(false) {}
};

TEST_F(LenientIndirectTest, WhatDoesNoHarmRuns) {
  auto in = ints({1, 2, 3, 4}), out = ints(std::vector<int>(4));
  auto descriptor = describe();
  descriptor->setMaxKernelBufferBindCount(0);
  descriptor->setCommandTypes(MTL::IndirectCommandTypeConcurrentDispatch);
  auto plain = state("next", false);
  auto commands = make(2, descriptor);
  put_next(commands, 0, in, out);
  auto* command = commands->indirectComputeCommand(0);
  command->setComputePipelineState(plain.get());
  command->setKernelBuffer(in.get(), 0, 99);
  command->setThreadgroupMemoryLength(20, 0);
  EXPECT_EQ(execute(commands, NS::Range(0, 100)), "");
  EXPECT_THAT(read(out), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(execute(commands, NS::Range(NS::UIntegerMax, NS::UIntegerMax)), "");
  commands->indirectComputeCommand(1)->concurrentDispatchThreads(MTL::Size(0, 0, 0), kOne);
  EXPECT_EQ(execute(commands), "");
  command->setKernelBuffer(nullptr, 0, 0);  // reads as zeros
  EXPECT_EQ(execute(commands), "");
  EXPECT_THAT(read(out), Each(1));
  in.reset();
  EXPECT_EQ(execute(commands), "");
  EXPECT_THAT(messages(), IsEmpty());
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
