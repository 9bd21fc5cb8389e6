// compat: excluded (functions as deallocators are ours, Apple has blocks)
// Without validation, calls that Metal then lets pass do what they do there: nothing fails, results
// are right, and what would be unsafe is still an error.
#include <functional>

#include "api_test.h"

namespace mlxn_test {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kCount = 96;

// Kernels in the manner of inference engines: sizes come as bytes, optional inputs are guarded by
// flags, sums go through threadgroup memory.
const char* const kSource = R"(
#include <metal_stdlib>
using namespace metal;
constant bool has_bias [[function_constant(0)]];
constant bool with_bias = is_function_constant_defined(has_bias) ? has_bias : false;
struct Shape { uint rows; uint columns; uint spare[6]; };

kernel void scale(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                  constant int* strides [[buffer(2)]], constant int& dimensions [[buffer(3)]],
                  uint i [[thread_position_in_grid]]) {
  float factor = 1;
  for (int d = 0; d < dimensions; ++d) factor *= strides[d];
  out[i] = factor * in[i];
}
kernel void add_bias(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                     device const float* bias [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  out[i] = in[i] + (with_bias ? bias[i] : 0.5f);
}
kernel void row_count(constant Shape& shape [[buffer(0)]], device uint* out [[buffer(1)]]) {
  out[0] = shape.rows * 100 + shape.columns * 10 + shape.spare[5];
}
kernel void sum(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                threadgroup float* partial [[threadgroup(0)]],
                threadgroup float* spare [[threadgroup(1)]], constant int& use [[buffer(2)]],
                uint i [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
  float total = simd_sum(in[i]);
  if (i % 32 == 0) partial[i / 32] = total;
  if (use) spare[i] = total;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (i == 0) {
    float all = use == 0 ? 0 : spare[0];
    for (uint k = 0; k < (n + 31) / 32; ++k) all += partial[k];
    out[0] = all;
  }
}
)";

class LenientTest : public KernelTest {
 protected:
  LenientTest() : KernelTest(false) {}

  void SetUp() override {
    KernelTest::SetUp();
    lib = library(kSource);
    ASSERT_TRUE(lib);
    in = buffer(kCount * sizeof(float));
    out = buffer(kCount * sizeof(float));
    for (uint32_t i = 0; i < kCount; ++i) floats(in)[i] = static_cast<float>(i);
    for (uint32_t i = 0; i < kCount; ++i) floats(out)[i] = -1;
  }
  void TearDown() override {
    lib.reset();
    in.reset();
    out.reset();
    KernelTest::TearDown();
  }

  static float* floats(const Ptr<MTL::Buffer>& buffer) {
    return static_cast<float*>(buffer->contents());
  }

  Ptr<MTL::ComputePipelineState> kernel(const char* name) {
    auto values = TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    NS::Error* error = nullptr;
    auto function = TransferPtr(lib->newFunction(string(name), values.get(), &error));
    EXPECT_TRUE(function) << text(error);
    auto state = TransferPtr(device->newComputePipelineState(function.get(), &error));
    EXPECT_TRUE(state) << text(error);
    return state;
  }

  // The error of a command buffer with one encoder, whose kernel, input and output are set.
  std::string run(const char* name,
                  const std::function<void(MTL::ComputeCommandEncoder*)>& encode) {
    auto state = kernel(name);
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(state.get());
    encoder->setBuffer(in.get(), 0, 0);
    encoder->setBuffer(out.get(), 0, 1);
    encode(encoder);
    encoder->endEncoding();
    return finish(commands);
  }
  static void dispatch(MTL::ComputeCommandEncoder* encoder, uint32_t threads = kCount) {
    encoder->dispatchThreads(MTL::Size(threads, 1, 1), MTL::Size(32, 1, 1));
  }
  static void set_int(MTL::ComputeCommandEncoder* encoder, int value, NS::UInteger index) {
    encoder->setBytes(&value, sizeof(value), index);
  }

  Ptr<MTL::Library> lib;
  Ptr<MTL::Buffer> in, out;
};

TEST_F(LenientTest, EmptyGridsDoNothing) {
  EXPECT_EQ(run("scale",
                [&](auto* e) {
                  set_int(e, 0, 3);
                  e->dispatchThreads(MTL::Size(0, 1, 1), MTL::Size(32, 1, 1));
                  e->dispatchThreads(MTL::Size(8, 0, 1), MTL::Size(0, 1, 1));
                  e->dispatchThreadgroups(MTL::Size(1, 1, 0), MTL::Size(32, 1, 1));
                  e->dispatchThreadgroups(MTL::Size(0, 0, 0), MTL::Size(0, 0, 0));
                }),
            "");
  EXPECT_EQ(floats(out)[0], -1);
  EXPECT_TRUE(messages().empty());
}

TEST_F(LenientTest, SetBytesOfNothing) {
  const int two[] = {2, 3};
  EXPECT_EQ(run("scale",
                [&](auto* e) {
                  e->setBytes(two, sizeof(two), 2);
                  e->setBytes(two, 0, 2);
                  set_int(e, 0, 3);
                  dispatch(e, 32);
                  e->setBytes(nullptr, 0, 2);
                  dispatch(e, 64);
                  e->setBytes(nullptr, 8, 2);
                  dispatch(e);
                }),
            "");
  EXPECT_EQ(floats(out)[95], 95);
  EXPECT_TRUE(messages().empty());
}

// Nothing is left of earlier bytes: what is not there reads as zeros.
TEST_F(LenientTest, WhatIsNotBoundReadsAsZeros) {
  const int two[] = {2, 3};
  EXPECT_EQ(run("scale",
                [&](auto* e) {
                  e->setBytes(two, sizeof(two), 2);
                  e->setBytes(two, 0, 2);
                  set_int(e, 2, 3);
                  dispatch(e);
                }),
            "");
  EXPECT_EQ(floats(out)[95], 0);
  EXPECT_EQ(run("scale", [&](auto* e) { dispatch(e); }), "");  // nor the reference: 0 dimensions
  EXPECT_EQ(floats(out)[95], 95);
}

TEST_F(LenientTest, UnsetConstantsAndTheirBuffers) {
  EXPECT_EQ(run("add_bias", [&](auto* e) { dispatch(e); }), "");
  EXPECT_EQ(floats(out)[95], 95.5f);
}

TEST_F(LenientTest, BytesShorterThanTheirStruct) {
  const uint32_t shape[] = {3, 4};
  auto encode = [&](auto* e) {
    e->setBytes(shape, sizeof(shape), 0);
    e->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
  };
  EXPECT_EQ(run("row_count", encode), "");
  EXPECT_EQ(static_cast<uint32_t*>(out->contents())[0], 340u);
  auto small = buffer(sizeof(shape));  // its memory is longer
  std::memcpy(small->contents(), shape, sizeof(shape));
  EXPECT_EQ(run("row_count",
                [&](auto* e) {
                  e->setBuffer(small.get(), 0, 0);
                  e->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
                }),
            "");
  EXPECT_EQ(static_cast<uint32_t*>(out->contents())[0], 340u);
}

TEST_F(LenientTest, MoreBytesThanAreValid) {
  std::vector<int> strides(5000, 1);
  strides[4999] = 3;
  EXPECT_EQ(run("scale",
                [&](auto* e) {
                  e->setBytes(strides.data(), strides.size() * sizeof(int), 2);
                  set_int(e, 5000, 3);
                  dispatch(e);
                }),
            "");
  EXPECT_EQ(floats(out)[95], 285);
  EXPECT_THAT(run("scale", [&](auto* e) { e->setBytes(strides.data(), 1ull << 40, 2); }),
              HasSubstr("setBytes: length 1099511627776, expected 1 to 16777216"));
}

TEST_F(LenientTest, ThreadgroupMemoryIsRoundedUp) {
  for (NS::UInteger length : {12, 8, 136}) {
    EXPECT_EQ(run("sum",
                  [&](auto* e) {
                    set_int(e, 0, 2);
                    e->setThreadgroupMemoryLength(length, 0);
                    e->dispatchThreads(MTL::Size(kCount, 1, 1), MTL::Size(kCount, 1, 1));
                  }),
              "");
    EXPECT_EQ(floats(out)[0], 4560) << length;
  }
}

TEST_F(LenientTest, BuffersWithoutACopyTakeAnyMemory) {
  if (!wraps_host_memory()) GTEST_SKIP() << "buffers without a copy need unified memory";
  std::vector<float> memory(kCount + 1);
  for (uint32_t i = 0; i < kCount; ++i) memory[i + 1] = static_cast<float>(2 * i);
  int freed = 0;
  auto any = TransferPtr(device->newBuffer(memory.data() + 1, kCount * sizeof(float) - 1,
                                           MTL::ResourceStorageModeShared,
                                           [&](void*, NS::UInteger) { ++freed; }));
  ASSERT_TRUE(any);
  EXPECT_EQ(any->contents(), memory.data() + 1);
  EXPECT_EQ(run("scale",
                [&](auto* e) {
                  e->setBuffer(any.get(), 0, 0);
                  set_int(e, 0, 3);
                  dispatch(e);
                }),
            "");
  EXPECT_EQ(floats(out)[95], 190);
  any.reset();
  EXPECT_EQ(freed, 1);
  EXPECT_FALSE(TransferPtr(device->newBuffer(nullptr, 4096, MTL::ResourceStorageModeShared,
                                             [](void*, NS::UInteger) {})));
}

TEST_F(LenientTest, OffsetsNeedNoAlignment) {
  auto odd = buffer(kCount * sizeof(float) + 1);
  std::memcpy(static_cast<char*>(odd->contents()) + 1, in->contents(), kCount * sizeof(float));
  EXPECT_EQ(run("scale",
                [&](auto* e) {
                  e->setBuffer(odd.get(), 1, 0);
                  set_int(e, 0, 3);
                  dispatch(e);
                }),
            "");
  EXPECT_EQ(floats(out)[95], 95);
}

TEST_F(LenientTest, CallsWithoutEffect) {
  EXPECT_EQ(run("scale",
                [&](auto* e) {
                  set_int(e, 0, 3);
                  e->setBuffer(in.get(), 0, 31);
                  e->setBytes("x", 1, 31);
                  e->setBufferOffset(4, 31);
                  e->setBufferOffset(4, 7);
                  e->setThreadgroupMemoryLength(16, 31);
                  e->popDebugGroup();
                  e->updateFence(nullptr);
                  e->useResource(nullptr, MTL::ResourceUsageRead);
                  e->useHeap(nullptr);
                  e->memoryBarrier(MTL::BarrierScope(0));
                  dispatch(e);
                }),
            "");
  EXPECT_EQ(floats(out)[95], 95);
  auto* commands = queue->commandBuffer();
  commands->enqueue();
  commands->enqueue();
  commands->popDebugGroup();
  EXPECT_EQ(finish(commands), "");
  EXPECT_TRUE(messages().empty());
}

TEST_F(LenientTest, BlitsMayBeEmptyOrOverlap) {
  auto* commands = queue->commandBuffer();
  auto* blit = commands->blitCommandEncoder();
  blit->copyFromBuffer(in.get(), 0, out.get(), 0, 0);
  blit->fillBuffer(out.get(), NS::Range(4, 0), 7);
  blit->copyFromBuffer(in.get(), 0, in.get(), 4, 16);
  blit->endEncoding();
  EXPECT_EQ(finish(commands), "");
  EXPECT_EQ(floats(out)[1], -1);
  EXPECT_EQ(floats(in)[1], 0);
  EXPECT_EQ(floats(in)[4], 3);
}

TEST_F(LenientTest, BuffersReleasedTooEarlyAreStillThere) {
  auto state = kernel("scale");
  auto* commands = queue->commandBufferWithUnretainedReferences();
  auto* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(state.get());
  encoder->setBuffer(in.get(), 0, 0);
  encoder->setBuffer(out.get(), 0, 1);
  set_int(encoder, 0, 3);
  dispatch(encoder);
  encoder->endEncoding();
  in.reset();
  EXPECT_EQ(finish(commands), "");
  EXPECT_EQ(floats(out)[95], 95);
}

// What cannot run safely fails as it does with validation.
TEST_F(LenientTest, UnsafeCallsStayErrors) {
  if (!wraps_host_memory()) GTEST_SKIP() << "buffers without a copy need unified memory";
  auto odd = buffer(64);
  EXPECT_THAT(run("scale", [&](auto* e) { e->setBuffer(odd.get(), 65, 0); }),
              HasSubstr("offset 65 at index 0, expected at most the buffer's length 64"));
  std::vector<std::byte> memory(8);
  auto wrapped = TransferPtr(device->newBuffer(memory.data(), 8, MTL::ResourceStorageModeShared,
                                               [](void*, NS::UInteger) {}));
  EXPECT_THAT(run("row_count",
                  [&](auto* e) {
                    e->setBuffer(wrapped.get(), 0, 0);
                    e->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
                  }),
              HasSubstr("argument 'shape' at buffer index 0 needs 32 bytes, but 8 are bound"));
  EXPECT_THAT(
      run("scale", [&](auto* e) { e->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(2000, 1, 1)); }),
      HasSubstr("(2000, 1, 1)"));
  EXPECT_THAT(run("scale", [&](auto* e) { e->setThreadgroupMemoryLength(40000, 0); }),
              HasSubstr("length 40000, expected at most 32768"));
  auto* commands = queue->commandBuffer();
  auto* blit = commands->blitCommandEncoder();
  blit->fillBuffer(odd.get(), NS::Range(64, 1), 7);
  blit->endEncoding();
  EXPECT_THAT(finish(commands), HasSubstr("buffer range 64 + 1"));
}

}  // namespace
}  // namespace mlxn_test
