// What encoders hand to the executor, seen through the recording null device.
#include "api_test.h"

namespace mlxn_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RecordingTest : public ApiTest {
 protected:
  RecordingTest() : ApiTest("null") {}

  std::vector<std::string> recorded() { return mlxn::metal::take_recorded_commands(device.get()); }

  template <class Encode>
  std::vector<std::string> compute(MTL::DispatchType type, Encode encode) {
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder(type);
    encode(encoder);
    encoder->endEncoding();
    EXPECT_EQ(finish(commands), "");
    return recorded();
  }
  void dispatch(MTL::ComputeCommandEncoder* encoder, NS::UInteger grid = 8) {
    encoder->dispatchThreads(MTL::Size(grid, 1, 1), MTL::Size(4, 1, 1));
  }
};

TEST_F(RecordingTest, SerialEncodersPutABarrierBetweenDispatches) {
  auto state = any_pipeline();
  EXPECT_THAT(compute(MTL::DispatchTypeSerial,
                      [&](auto* e) {
                        e->setComputePipelineState(state.get());
                        dispatch(e, 8);
                        dispatch(e, 9);
                        e->memoryBarrier(MTL::BarrierScopeBuffers);  // adds no second barrier
                        dispatch(e, 10);
                      }),
              ElementsAre("list ", "dispatch k 8x1x1 in 4x1x1", "barrier",
                          "dispatch k 9x1x1 in 4x1x1", "barrier", "dispatch k 10x1x1 in 4x1x1"));
}

TEST_F(RecordingTest, ConcurrentEncodersHaveOnlyTheBarriersAskedFor) {
  auto state = any_pipeline();
  auto data = buffer(16);
  const MTL::Resource* resources[] = {data.get()};
  EXPECT_THAT(compute(MTL::DispatchTypeConcurrent,
                      [&](auto* e) {
                        e->setComputePipelineState(state.get());
                        dispatch(e, 8);
                        dispatch(e, 9);
                        e->memoryBarrier(resources, 1);
                        dispatch(e, 10);
                      }),
              ElementsAre("list ", "dispatch k 8x1x1 in 4x1x1", "dispatch k 9x1x1 in 4x1x1",
                          "barrier", "dispatch k 10x1x1 in 4x1x1"));
}

TEST_F(RecordingTest, ABarrierStandsBetweenEncoders) {
  auto state = any_pipeline();
  auto data = buffer(16);
  auto* commands = queue->commandBuffer();
  commands->setLabel(string("two"));
  auto* first = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
  first->setComputePipelineState(state.get());
  dispatch(first);
  first->endEncoding();
  commands->computeCommandEncoder()->endEncoding();  // an empty one adds nothing
  auto* blit = commands->blitCommandEncoder();
  blit->fillBuffer(data.get(), NS::Range(4, 8), 7);
  blit->copyFromBuffer(data.get(), 4, data.get(), 0, 4);
  blit->endEncoding();
  EXPECT_EQ(finish(commands), "");
  EXPECT_THAT(recorded(), ElementsAre("list two", "dispatch k 8x1x1 in 4x1x1", "barrier",
                                      "fill 4+8 with 7", "barrier", "copy 4 to 0 size 4"));
}

TEST_F(RecordingTest, BindingsReachTheDispatch) {
  auto state = any_pipeline();
  auto data = buffer(64), counts = buffer(64);
  const int value = 1;
  EXPECT_THAT(compute(MTL::DispatchTypeSerial,
                      [&](auto* e) {
                        e->setComputePipelineState(state.get());
                        e->setBuffer(data.get(), 16, 0);
                        e->setBytes(&value, sizeof value, 2);
                        e->setThreadgroupMemoryLength(48, 1);
                        dispatch(e);
                        e->setBuffer(nullptr, 0, 2);
                        e->setBufferOffset(32, 0);
                        e->dispatchThreadgroups(counts.get(), 8, MTL::Size(4, 2, 1));
                      }),
              ElementsAre("list ", "dispatch k 8x1x1 in 4x1x1 0:16+48 2:bytes(4) tg1:48", "barrier",
                          "dispatch k indirect in 4x2x1 0:32+32 tg1:48"));
}

TEST_F(RecordingTest, EventsSplitTheWork) {
  auto state = any_pipeline();
  auto event = TransferPtr(device->newSharedEvent());
  auto* commands = queue->commandBuffer();
  auto encode = [&](NS::UInteger grid) {
    auto* e = commands->computeCommandEncoder();
    e->setComputePipelineState(state.get());
    dispatch(e, grid);
    e->endEncoding();
  };
  encode(1);
  commands->encodeSignalEvent(event.get(), 1);
  commands->encodeWait(event.get(), 2);
  encode(2);
  commands->commit();
  EXPECT_TRUE(event->waitUntilSignaledValue(1, ~0ull));
  EXPECT_THAT(recorded(), ElementsAre("list ", "dispatch k 1x1x1 in 4x1x1"));
  event->setSignaledValue(2);
  commands->waitUntilCompleted();
  EXPECT_THAT(recorded(), ElementsAre("list ", "dispatch k 2x1x1 in 4x1x1"));
}

TEST_F(RecordingTest, SamplesStandWhereTheyWereAsked) {
  auto state = any_pipeline();
  auto descriptor = TransferPtr(MTL::CounterSampleBufferDescriptor::alloc()->init());
  descriptor->setCounterSet(device->counterSets()->object<MTL::CounterSet>(0));
  descriptor->setSampleCount(4);
  NS::Error* error = nullptr;
  auto samples = TransferPtr(device->newCounterSampleBuffer(descriptor.get(), &error));
  auto* pass = MTL::ComputePassDescriptor::computePassDescriptor();
  auto* attachment = pass->sampleBufferAttachments()->object(1);
  attachment->setSampleBuffer(samples.get());
  attachment->setStartOfEncoderSampleIndex(0);
  attachment->setEndOfEncoderSampleIndex(3);
  auto* commands = queue->commandBuffer();
  auto* encoder = commands->computeCommandEncoder(pass);
  encoder->setComputePipelineState(state.get());
  dispatch(encoder);
  encoder->sampleCountersInBuffer(samples.get(), 1, true);
  dispatch(encoder);
  encoder->endEncoding();
  EXPECT_EQ(finish(commands), "");
  EXPECT_THAT(recorded(), ElementsAre("list ", "timestamp at 0", "barrier",
                                      "dispatch k 8x1x1 in 4x1x1", "barrier", "timestamp at 8",
                                      "barrier", "dispatch k 8x1x1 in 4x1x1", "timestamp at 24"));
}

TEST_F(RecordingTest, AWrongBufferReachesNoExecutor) {
  validate();
  auto state = any_pipeline();
  auto* commands = queue->commandBuffer();
  auto* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(state.get());
  dispatch(encoder);
  dispatch(encoder, 0);
  encoder->endEncoding();
  EXPECT_NE(finish(commands), "");
  EXPECT_THAT(recorded(), IsEmpty());
}

}  // namespace
}  // namespace mlxn_test
