// Each rule of encoding: the wrong call is reported and becomes the command buffer's error.
#include <functional>

#include "api_test.h"

namespace mlxn_test {
namespace {

using ::testing::HasSubstr;

using Encode = std::function<void(MTL::ComputeCommandEncoder*)>;

class ValidationTest : public ApiTest {
 protected:
  ValidationTest() : ApiTest("null", true) {}
  void SetUp() override {
    ApiTest::SetUp();
    state = any_pipeline();
    data = buffer(64);
  }
  void TearDown() override {
    state.reset();
    data.reset();
    ApiTest::TearDown();
  }

  // The error of a command buffer with one compute encoder.
  std::string compute(const Encode& encode) {
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encode(encoder);
    encoder->endEncoding();
    return finish(commands);
  }
  std::string blit(const std::function<void(MTL::BlitCommandEncoder*)>& encode) {
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->blitCommandEncoder();
    encode(encoder);
    encoder->endEncoding();
    return finish(commands);
  }
  std::string dispatch(MTL::Size grid, MTL::Size group) {
    return compute([&](auto* encoder) {
      encoder->setComputePipelineState(state.get());
      encoder->dispatchThreads(grid, group);
    });
  }

  Ptr<MTL::ComputePipelineState> state;
  Ptr<MTL::Buffer> data;
};

TEST_F(ValidationTest, GoodCallsPass) {
  EXPECT_EQ(dispatch(MTL::Size(10, 1, 1), MTL::Size(4, 1, 1)), "");
  EXPECT_EQ(compute([&](auto* e) {
              e->setComputePipelineState(state.get());
              e->setBuffer(data.get(), 64, 30);  // an offset at the end is allowed
              e->setBuffer(nullptr, 0, 30);
              e->setThreadgroupMemoryLength(32768, 0);
              e->memoryBarrier(MTL::BarrierScopeBuffers);
              e->pushDebugGroup(string("g"));
              e->dispatchThreadgroups(MTL::Size(1, 2, 3), MTL::Size(32, 32, 1));
              e->popDebugGroup();
            }),
            "");
  EXPECT_TRUE(messages().empty());
}

TEST_F(ValidationTest, DispatchNeedsAPipeline) {
  EXPECT_THAT(compute([](auto* e) { e->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1)); }),
              HasSubstr("MTL::ComputeCommandEncoder::dispatchThreads: no pipeline"));
  EXPECT_THAT(
      compute([](auto* e) { e->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1)); }),
      HasSubstr("dispatchThreadgroups: no pipeline"));
  EXPECT_THAT(compute([&](auto* e) { e->setComputePipelineState(nullptr); }),
              HasSubstr("setComputePipelineState: null pipeline state"));
}

TEST_F(ValidationTest, SizesMustNotBeZero) {
  EXPECT_THAT(dispatch(MTL::Size(0, 1, 1), MTL::Size(1, 1, 1)),
              HasSubstr("threads per grid (0, 1, 1), expected 1 to 4294967295"));
  EXPECT_THAT(dispatch(MTL::Size(1, 1, 1), MTL::Size(1, 0, 1)),
              HasSubstr("threads per threadgroup (1, 0, 1), expected 1 to 1024"));
  EXPECT_THAT(compute([&](auto* e) {
                e->setComputePipelineState(state.get());
                e->dispatchThreadgroups(MTL::Size(1, 1, 0), MTL::Size(1, 1, 1));
              }),
              HasSubstr("threadgroups per grid (1, 1, 0)"));
}

TEST_F(ValidationTest, ThreadgroupsMustFitThePipeline) {
  EXPECT_THAT(dispatch(MTL::Size(1, 1, 1), MTL::Size(1025, 1, 1)), HasSubstr("(1025, 1, 1)"));
  EXPECT_THAT(dispatch(MTL::Size(1, 1, 1), MTL::Size(32, 33, 1)),
              HasSubstr("are 1056 threads, expected at most the pipeline's 1024"));
  EXPECT_THAT(dispatch(MTL::Size(1, 1, 1), MTL::Size(~NS::UInteger(0), 2, 2)),
              HasSubstr("expected 1 to 1024"));
}

// What was right for one dispatch is checked again when the group or the pipeline changes.
TEST_F(ValidationTest, ARightDispatchDoesNotVouchForTheNext) {
  auto lib = library("kernel void k() {}");
  auto descriptor = TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
  descriptor->setComputeFunction(TransferPtr(lib->newFunction(string("k"))).get());
  descriptor->setMaxTotalThreadsPerThreadgroup(64);
  NS::Error* error = nullptr;
  auto narrow = TransferPtr(
      device->newComputePipelineState(descriptor.get(), MTL::PipelineOptionNone, nullptr, &error));
  auto two = [&](MTL::ComputePipelineState* second, MTL::Size group) {
    return compute([&](auto* e) {
      e->setComputePipelineState(state.get());
      e->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(128, 1, 1));
      e->setComputePipelineState(second);
      e->dispatchThreadgroups(MTL::Size(1, 1, 1), group);
    });
  };
  EXPECT_EQ(two(state.get(), MTL::Size(128, 1, 1)), "");
  EXPECT_THAT(two(state.get(), MTL::Size(0, 0, 0)), HasSubstr("(0, 0, 0), expected 1 to 1024"));
  EXPECT_THAT(two(narrow.get(), MTL::Size(128, 1, 1)), HasSubstr("(128, 1, 1), expected 1 to 64"));
  EXPECT_THAT(dispatch(MTL::Size(1, 1, 1), MTL::Size(0, 0, 0)), HasSubstr("(0, 0, 0)"));
  EXPECT_THAT(compute([&](auto* e) {
                e->setComputePipelineState(state.get());
                e->setThreadgroupMemoryLength(32768, 0);
                e->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
                e->setThreadgroupMemoryLength(0, 0);
                e->setThreadgroupMemoryLength(16, 1);
                e->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
              }),
              "");
}

TEST_F(ValidationTest, GridsMustFitThirtyTwoBits) {
  EXPECT_THAT(dispatch(MTL::Size(1ull << 32, 1, 1), MTL::Size(1, 1, 1)),
              HasSubstr("(4294967296, 1, 1)"));
  EXPECT_THAT(compute([&](auto* e) {
                e->setComputePipelineState(state.get());
                e->dispatchThreadgroups(MTL::Size(1ull << 31, 1, 1), MTL::Size(2, 1, 1));
              }),
              HasSubstr("threadgroups per grid (2147483648, 1, 1) of (2, 1, 1) threads"));
}

TEST_F(ValidationTest, PipelineDescriptorsTightenTheLimits) {
  auto lib = library("kernel void k() {}");
  auto descriptor = TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
  descriptor->setComputeFunction(TransferPtr(lib->newFunction(string("k"))).get());
  descriptor->setMaxTotalThreadsPerThreadgroup(64);
  descriptor->setThreadGroupSizeIsMultipleOfThreadExecutionWidth(true);
  descriptor->setLabel(string("tight"));
  NS::Error* error = nullptr;
  state = TransferPtr(
      device->newComputePipelineState(descriptor.get(), MTL::PipelineOptionNone, nullptr, &error));
  ASSERT_TRUE(state) << text(error);
  EXPECT_EQ(text(state->label()), "tight");
  EXPECT_EQ(state->maxTotalThreadsPerThreadgroup(), 64u);
  EXPECT_THAT(dispatch(MTL::Size(1, 1, 1), MTL::Size(65, 1, 1)), HasSubstr("expected 1 to 64"));
  EXPECT_THAT(dispatch(MTL::Size(1, 1, 1), MTL::Size(33, 1, 1)),
              HasSubstr("expected a multiple of 32"));
  EXPECT_EQ(dispatch(MTL::Size(1, 1, 1), MTL::Size(32, 2, 1)), "");

  descriptor->setThreadGroupSizeIsMultipleOfThreadExecutionWidth(false);
  descriptor->setRequiredThreadsPerThreadgroup(MTL::Size(8, 4, 1));
  state = TransferPtr(
      device->newComputePipelineState(descriptor.get(), MTL::PipelineOptionNone, nullptr, &error));
  EXPECT_THAT(dispatch(MTL::Size(1, 1, 1), MTL::Size(32, 1, 1)),
              HasSubstr("expected exactly the required (8, 4, 1)"));
  EXPECT_EQ(dispatch(MTL::Size(1, 1, 1), MTL::Size(8, 4, 1)), "");
}

TEST_F(ValidationTest, IndicesEndAtThirty) {
  EXPECT_THAT(compute([&](auto* e) { e->setBuffer(data.get(), 0, 31); }),
              HasSubstr("setBuffer: index 31, expected 0 to 30"));
  EXPECT_THAT(compute([&](auto* e) { e->setBytes("x", 1, 31); }),
              HasSubstr("setBytes: index 31, expected 0 to 30"));
  EXPECT_THAT(compute([&](auto* e) { e->setBufferOffset(0, 31); }),
              HasSubstr("setBufferOffset: index 31"));
  EXPECT_THAT(compute([&](auto* e) { e->setThreadgroupMemoryLength(16, 31); }),
              HasSubstr("setThreadgroupMemoryLength: index 31"));
  const MTL::Buffer* buffers[] = {data.get(), data.get()};
  const NS::UInteger offsets[] = {0, 0};
  EXPECT_THAT(compute([&](auto* e) { e->setBuffers(buffers, offsets, NS::Range(30, 2)); }),
              HasSubstr("setBuffers: index range 30 + 2, expected to end within 31"));
  EXPECT_EQ(compute([&](auto* e) { e->setBuffers(buffers, offsets, NS::Range(29, 2)); }), "");
}

TEST_F(ValidationTest, OffsetsEndWithTheBuffer) {
  EXPECT_THAT(compute([&](auto* e) { e->setBuffer(data.get(), 65, 2); }),
              HasSubstr("offset 65 at index 2, expected at most the buffer's length 64"));
  EXPECT_THAT(compute([&](auto* e) {
                e->setBuffer(data.get(), 0, 2);
                e->setBufferOffset(65, 2);
              }),
              HasSubstr("setBufferOffset: offset 65 at index 2"));
  EXPECT_THAT(compute([&](auto* e) { e->setBufferOffset(0, 3); }),
              HasSubstr("no buffer is bound at index 3"));
}

TEST_F(ValidationTest, BytesAreLimited) {
  std::vector<char> bytes(4097);
  EXPECT_EQ(compute([&](auto* e) { e->setBytes(bytes.data(), 4096, 0); }), "");
  EXPECT_THAT(compute([&](auto* e) { e->setBytes(bytes.data(), 4097, 0); }),
              HasSubstr("setBytes: length 4097, expected 1 to 4096"));
  EXPECT_THAT(compute([&](auto* e) { e->setBytes(bytes.data(), 0, 0); }), HasSubstr("length 0"));
  EXPECT_THAT(compute([&](auto* e) { e->setBytes(nullptr, 4, 0); }), HasSubstr("null pointer"));
}

TEST_F(ValidationTest, ThreadgroupMemoryIsLimited) {
  EXPECT_THAT(compute([&](auto* e) { e->setThreadgroupMemoryLength(32784, 0); }),
              HasSubstr("length 32784, expected at most 32768"));
  EXPECT_THAT(compute([&](auto* e) { e->setThreadgroupMemoryLength(20, 0); }),
              HasSubstr("length 20, expected a multiple of 16"));
}

TEST_F(ValidationTest, IndirectArgumentsMustLieInTheBuffer) {
  auto indirect = [&](MTL::Buffer* arguments, NS::UInteger offset) {
    return compute([&](auto* e) {
      e->setComputePipelineState(state.get());
      e->dispatchThreadgroups(arguments, offset, MTL::Size(1, 1, 1));
    });
  };
  EXPECT_EQ(indirect(data.get(), 52), "");
  EXPECT_THAT(indirect(data.get(), 56), HasSubstr("indirect buffer offset 56"));
  EXPECT_THAT(indirect(data.get(), 2), HasSubstr("expected a multiple of 4"));
  EXPECT_THAT(indirect(data.get(), ~NS::UInteger(3)), HasSubstr("within the length 64"));
  EXPECT_THAT(indirect(nullptr, 0), HasSubstr("null indirect buffer"));
}

TEST_F(ValidationTest, ObjectsMustBelongToTheDevice) {
  auto other = make_device("null");
  auto foreign = TransferPtr(other->newBuffer(16, MTL::ResourceStorageModeShared));
  auto fence = TransferPtr(other->newFence());
  EXPECT_THAT(compute([&](auto* e) { e->setBuffer(foreign.get(), 0, 0); }),
              HasSubstr("the buffer belongs to another device"));
  EXPECT_THAT(compute([&](auto* e) { e->waitForFence(fence.get()); }),
              HasSubstr("the fence belongs to another device"));
  EXPECT_THAT(compute([&](auto* e) { e->useResource(foreign.get(), MTL::ResourceUsageRead); }),
              HasSubstr("the resource belongs to another device"));
}

TEST_F(ValidationTest, NullObjectsAreNamed) {
  EXPECT_THAT(compute([](auto* e) { e->updateFence(nullptr); }),
              HasSubstr("updateFence: null fence"));
  EXPECT_THAT(compute([](auto* e) { e->useResource(nullptr, MTL::ResourceUsageRead); }),
              HasSubstr("null resource"));
  EXPECT_THAT(compute([](auto* e) { e->useHeap(nullptr); }), HasSubstr("null heap"));
  const MTL::Resource* none[] = {nullptr};
  EXPECT_THAT(compute([&](auto* e) { e->memoryBarrier(none, 1); }),
              HasSubstr("resource 0 of 1 is null"));
  EXPECT_THAT(compute([](auto* e) { e->memoryBarrier(MTL::BarrierScope(0)); }),
              HasSubstr("scope 0"));
  EXPECT_THAT(compute([](auto* e) { e->sampleCountersInBuffer(nullptr, 0, false); }),
              HasSubstr("null counter sample buffer"));
}

TEST_F(ValidationTest, EncodingAfterTheEndIsAnError) {
  auto* commands = queue->commandBuffer();
  auto* encoder = commands->computeCommandEncoder();
  encoder->endEncoding();
  encoder->setBuffer(data.get(), 0, 0);
  EXPECT_THAT(finish(commands), HasSubstr("setBuffer: called after endEncoding"));

  auto* again = queue->commandBuffer();
  auto* blit_encoder = again->blitCommandEncoder();
  blit_encoder->endEncoding();
  blit_encoder->endEncoding();
  EXPECT_THAT(finish(again), HasSubstr("MTL::BlitCommandEncoder::endEncoding: called twice"));
}

TEST_F(ValidationTest, EncodingAfterCommitIsReported) {
  auto event = TransferPtr(device->newSharedEvent());
  auto* commands = queue->commandBuffer();
  commands->encodeWait(event.get(), 1);
  auto* encoder = commands->computeCommandEncoder();
  commands->commit();  // with the encoder still open
  encoder->setBuffer(data.get(), 0, 0);
  EXPECT_THAT(messages().back(), HasSubstr("called after the command buffer was committed"));
  encoder->endEncoding();
  event->setSignaledValue(1);
  commands->waitUntilCompleted();
  EXPECT_THAT(text(commands->error()), HasSubstr("an encoder is still open"));
}

TEST_F(ValidationTest, DebugGroupsMustBalanceOnPop) {
  EXPECT_THAT(compute([](auto* e) { e->popDebugGroup(); }), HasSubstr("no debug group is open"));
}

TEST_F(ValidationTest, BlitsCheckTheirRanges) {
  auto other = buffer(32);
  EXPECT_EQ(blit([&](auto* e) { e->copyFromBuffer(data.get(), 32, other.get(), 0, 32); }), "");
  EXPECT_THAT(blit([&](auto* e) { e->copyFromBuffer(data.get(), 48, other.get(), 0, 32); }),
              HasSubstr("copyFromBuffer: source buffer range 48 + 32"));
  EXPECT_THAT(blit([&](auto* e) { e->copyFromBuffer(data.get(), 0, other.get(), 16, 32); }),
              HasSubstr("destination buffer range 16 + 32"));
  EXPECT_THAT(
      blit([&](auto* e) { e->copyFromBuffer(data.get(), ~NS::UInteger(0), other.get(), 0, 16); }),
      HasSubstr("source buffer range"));
  EXPECT_THAT(blit([&](auto* e) { e->copyFromBuffer(data.get(), 0, other.get(), 0, 0); }),
              HasSubstr("expected at least one byte"));
  EXPECT_THAT(blit([&](auto* e) { e->copyFromBuffer(nullptr, 0, other.get(), 0, 4); }),
              HasSubstr("null source buffer"));
  EXPECT_THAT(blit([&](auto* e) { e->copyFromBuffer(data.get(), 0, data.get(), 16, 32); }),
              HasSubstr("overlap"));
  EXPECT_EQ(blit([&](auto* e) { e->copyFromBuffer(data.get(), 0, data.get(), 32, 32); }), "");
  EXPECT_THAT(blit([&](auto* e) { e->fillBuffer(data.get(), NS::Range(60, 5), 1); }),
              HasSubstr("fillBuffer: buffer range 60 + 5"));
  EXPECT_THAT(blit([&](auto* e) { e->fillBuffer(nullptr, NS::Range(0, 4), 1); }),
              HasSubstr("null buffer"));
  EXPECT_EQ(blit([&](auto* e) { e->synchronizeResource(data.get()); }), "");
}

TEST_F(ValidationTest, BlitsCopyAndFill) {
  auto other = buffer(64);
  EXPECT_EQ(blit([&](auto* e) {
              e->fillBuffer(data.get(), NS::Range(8, 4), 0xab);
              e->copyFromBuffer(data.get(), 8, other.get(), 1, 4);
            }),
            "");
  auto* bytes = static_cast<uint8_t*>(other->contents());
  EXPECT_EQ(bytes[0], 0);
  EXPECT_EQ(bytes[1], 0xab);
  EXPECT_EQ(bytes[4], 0xab);
  EXPECT_EQ(bytes[5], 0);
}

TEST_F(ValidationTest, DispatchTypeIsChecked) {
  auto* commands = queue->commandBuffer();
  auto* encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
  EXPECT_EQ(encoder->dispatchType(), MTL::DispatchTypeConcurrent);
  encoder->endEncoding();
  EXPECT_EQ(finish(commands), "");
  auto* wrong = queue->commandBuffer();
  wrong->computeCommandEncoder(static_cast<MTL::DispatchType>(7))->endEncoding();
  EXPECT_THAT(finish(wrong), HasSubstr("dispatch type 7"));
}

}  // namespace
}  // namespace mlxn_test
