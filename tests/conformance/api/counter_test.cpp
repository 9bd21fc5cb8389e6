// Counter sample buffers: at dispatches, at encoder boundaries, resolved by host and by blit.
#include "api_test.h"

namespace mlxn_test {
namespace {

using ::testing::HasSubstr;

class CounterTest : public ApiTest {
 protected:
  static Ptr<MTL::CounterSampleBuffer> samples(MTL::Device* device, NS::UInteger count,
                                               MTL::StorageMode mode = MTL::StorageModeShared) {
    auto descriptor = TransferPtr(MTL::CounterSampleBufferDescriptor::alloc()->init());
    descriptor->setCounterSet(device->counterSets()->object<MTL::CounterSet>(0));
    descriptor->setSampleCount(count);
    descriptor->setStorageMode(mode);
    descriptor->setLabel(string("times"));
    NS::Error* error = nullptr;
    auto result = TransferPtr(device->newCounterSampleBuffer(descriptor.get(), &error));
    EXPECT_TRUE(result) << text(error);
    return result;
  }
  static std::vector<uint64_t> read(MTL::CounterSampleBuffer* buffer, NS::Range range) {
    NS::Data* data = buffer->resolveCounterRange(range);
    if (!data) return {};
    std::vector<uint64_t> values(data->length() / sizeof(uint64_t));
    std::memcpy(values.data(), data->mutableBytes(), data->length());
    return values;
  }
};

TEST_F(CounterTest, TheOnlyCounterSetIsTimestamps) {
  ASSERT_EQ(device->counterSets()->count(), 1u);
  auto* set = device->counterSets()->object<MTL::CounterSet>(0);
  EXPECT_TRUE(set->name()->isEqualToString(MTL::CommonCounterSetTimestamp));
  ASSERT_EQ(set->counters()->count(), 1u);
  auto* counter = set->counters()->object<MTL::Counter>(0);
  EXPECT_TRUE(counter->name()->isEqualToString(MTL::CommonCounterTimestamp));
  EXPECT_TRUE(device->supportsCounterSampling(MTL::CounterSamplingPointAtStageBoundary));
  EXPECT_TRUE(device->supportsCounterSampling(MTL::CounterSamplingPointAtDispatchBoundary));
  EXPECT_FALSE(device->supportsCounterSampling(MTL::CounterSamplingPointAtDrawBoundary));
}

TEST_F(CounterTest, SamplesGrowAndUnusedOnesSaySo) {
  auto times = samples(device.get(), 4);
  EXPECT_EQ(times->sampleCount(), 4u);
  EXPECT_EQ(text(times->label()), "times");
  auto state = any_pipeline();
  auto* commands = queue->commandBuffer();
  auto* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(state.get());
  encoder->sampleCountersInBuffer(times.get(), 0, true);
  encoder->dispatchThreads(MTL::Size(8, 1, 1), MTL::Size(8, 1, 1));
  encoder->sampleCountersInBuffer(times.get(), 1, true);
  encoder->dispatchThreads(MTL::Size(8, 1, 1), MTL::Size(8, 1, 1));
  encoder->sampleCountersInBuffer(times.get(), 2, false);
  encoder->endEncoding();
  EXPECT_EQ(finish(commands), "");
  const auto values = read(times.get(), NS::Range(0, 4));
  ASSERT_EQ(values.size(), 4u);
  EXPECT_GT(values[0], 0u);
  EXPECT_LE(values[0], values[1]);
  EXPECT_LE(values[1], values[2]);
  EXPECT_EQ(values[3], MTL::CounterErrorValue);
  EXPECT_LE(commands->GPUStartTime(), static_cast<double>(values[0]) * 1e-9 + 1e-6);
}

TEST_F(CounterTest, PassDescriptorsSampleAtEncoderBoundaries) {
  auto times = samples(device.get(), 4);
  auto data = buffer(16);
  auto* pass = MTL::ComputePassDescriptor::computePassDescriptor();
  pass->setDispatchType(MTL::DispatchTypeConcurrent);
  auto* attachment = pass->sampleBufferAttachments()->object(0);
  EXPECT_EQ(attachment->startOfEncoderSampleIndex(), MTL::CounterDontSample);
  attachment->setSampleBuffer(times.get());
  attachment->setStartOfEncoderSampleIndex(0);
  attachment->setEndOfEncoderSampleIndex(1);
  auto* blit_pass = MTL::BlitPassDescriptor::blitPassDescriptor();
  blit_pass->sampleBufferAttachments()->object(0)->setSampleBuffer(times.get());
  blit_pass->sampleBufferAttachments()->object(0)->setStartOfEncoderSampleIndex(2);
  blit_pass->sampleBufferAttachments()->object(0)->setEndOfEncoderSampleIndex(3);

  auto* commands = queue->commandBuffer();
  auto* encoder = commands->computeCommandEncoder(pass);
  EXPECT_EQ(encoder->dispatchType(), MTL::DispatchTypeConcurrent);
  encoder->endEncoding();
  auto* blit = commands->blitCommandEncoder(blit_pass);
  blit->fillBuffer(data.get(), NS::Range(0, 16), 1);
  blit->endEncoding();
  EXPECT_EQ(finish(commands), "");
  const auto values = read(times.get(), NS::Range(0, 4));
  for (int i = 0; i + 1 < 4; ++i) EXPECT_LE(values[i], values[i + 1]);
  EXPECT_NE(values[3], MTL::CounterErrorValue);
  EXPECT_EQ(pass->sampleBufferAttachments()->object(4), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("attachment index 4, expected less than 4"));
}

TEST_F(CounterTest, PassDescriptorsCopyDeeply) {
  auto times = samples(device.get(), 2);
  auto pass = TransferPtr(MTL::ComputePassDescriptor::alloc()->init());
  auto* attachments = pass->sampleBufferAttachments();
  auto attachment = TransferPtr(MTL::ComputePassSampleBufferAttachmentDescriptor::alloc()->init());
  attachment->setSampleBuffer(times.get());
  attachment->setStartOfEncoderSampleIndex(1);
  attachments->setObject(attachment.get(), 2);
  EXPECT_EQ(attachments->object(2)->startOfEncoderSampleIndex(), 1u);
  auto copy = TransferPtr(pass->copy());
  copy->sampleBufferAttachments()->setObject(nullptr, 2);
  EXPECT_EQ(attachments->object(2)->sampleBuffer(), times.get());
}

TEST_F(CounterTest, ResolvesIntoABuffer) {
  auto times = samples(device.get(), 2, MTL::StorageModePrivate);
  EXPECT_EQ(times->resolveCounterRange(NS::Range(0, 1)), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("storage mode Private, expected Shared"));
  auto data = buffer(32);
  auto* commands = queue->commandBuffer();
  auto* blit = commands->blitCommandEncoder();
  blit->sampleCountersInBuffer(times.get(), 0, true);
  blit->sampleCountersInBuffer(times.get(), 1, true);
  blit->resolveCounters(times.get(), NS::Range(0, 2), data.get(), 16);
  blit->endEncoding();
  EXPECT_EQ(finish(commands), "");
  auto* values = static_cast<uint64_t*>(data->contents());
  EXPECT_EQ(values[1], 0u);
  EXPECT_GT(values[2], 0u);
  EXPECT_LE(values[2], values[3]);
}

TEST_F(CounterTest, WrongCallsAreErrors) {
  validate();
  auto times = samples(device.get(), 2);
  auto data = buffer(16);
  auto fails = [&](auto encode) {
    auto* commands = queue->commandBuffer();
    auto* blit = commands->blitCommandEncoder();
    encode(blit);
    blit->endEncoding();
    return finish(commands);
  };
  EXPECT_THAT(fails([&](auto* e) { e->sampleCountersInBuffer(times.get(), 2, true); }),
              HasSubstr("sample index 2, expected less than 2"));
  EXPECT_THAT(
      fails([&](auto* e) { e->resolveCounters(times.get(), NS::Range(1, 2), data.get(), 0); }),
      HasSubstr("sample range 1 + 2"));
  EXPECT_THAT(
      fails([&](auto* e) { e->resolveCounters(times.get(), NS::Range(0, 2), data.get(), 4); }),
      HasSubstr("destination offset 4, expected a multiple of 8"));
  EXPECT_THAT(
      fails([&](auto* e) { e->resolveCounters(times.get(), NS::Range(0, 2), data.get(), 8); }),
      HasSubstr("destination buffer range 8 + 16"));
  EXPECT_EQ(times->resolveCounterRange(NS::Range(2, 1)), nullptr);

  auto descriptor = TransferPtr(MTL::CounterSampleBufferDescriptor::alloc()->init());
  NS::Error* error = nullptr;
  EXPECT_EQ(device->newCounterSampleBuffer(descriptor.get(), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("no counter set"));
  EXPECT_TRUE(error->domain()->isEqualToString(MTL::CounterErrorDomain));
  EXPECT_EQ(error->code(), MTL::CounterSampleBufferErrorInvalid);
  descriptor->setCounterSet(device->counterSets()->object<MTL::CounterSet>(0));
  descriptor->setSampleCount(5000);
  EXPECT_EQ(device->newCounterSampleBuffer(descriptor.get(), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("sample count 5000, expected 1 to 4096"));
}

TEST_F(CounterTest, DevicesWithoutDispatchSamplingSaySo) {
  auto coarse = make_device("null", /*dispatch_sampling=*/false);
  EXPECT_FALSE(coarse->supportsCounterSampling(MTL::CounterSamplingPointAtDispatchBoundary));
  EXPECT_TRUE(coarse->supportsCounterSampling(MTL::CounterSamplingPointAtStageBoundary));
  auto times = samples(coarse.get(), 2);
  auto work = TransferPtr(coarse->newCommandQueue());
  auto* commands = work->commandBuffer();
  auto* encoder = commands->computeCommandEncoder();
  encoder->sampleCountersInBuffer(times.get(), 0, true);
  encoder->endEncoding();
  EXPECT_THAT(finish(commands), HasSubstr("samples counters at stage boundaries only"));
  auto* pass = MTL::ComputePassDescriptor::computePassDescriptor();
  pass->sampleBufferAttachments()->object(0)->setSampleBuffer(times.get());
  pass->sampleBufferAttachments()->object(0)->setEndOfEncoderSampleIndex(0);
  auto* good = work->commandBuffer();
  good->computeCommandEncoder(pass)->endEncoding();
  EXPECT_EQ(finish(good), "");
  EXPECT_NE(read(times.get(), NS::Range(0, 1))[0], MTL::CounterErrorValue);
}

}  // namespace
}  // namespace mlxn_test
