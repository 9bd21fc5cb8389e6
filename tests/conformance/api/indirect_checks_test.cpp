// compat: excluded (devices with options are ours)
// What is wrong with indirect commands, with validation and without.
#include "indirect_fixture.h"

namespace mlxn_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

}  // namespace
}  // namespace mlxn_test
