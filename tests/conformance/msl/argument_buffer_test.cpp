// Structs in buffers that hold pointers to other buffers, as bindless kernels use them.
#include <gtest/gtest.h>

#include "tests/conformance/msl/gpu.h"

namespace {

using namespace msl_test;

const char* const kSource = R"(
struct Arguments {
  const device float* values [[id(0)]];
  constant uint* factor [[id(1)]];
  uint offset [[id(2)]];
};
struct Chunk { device float* data; uint count; };
kernel void gather(device float* out [[buffer(0)]], constant Arguments& args [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
  out[i] = args.values[i] * float(*args.factor) + float(args.offset);
}
kernel void scatter(const device Chunk* chunks [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  device Chunk const& chunk = chunks[i % 2];
  if (i / 2 < chunk.count) chunk.data[i / 2] = float(i);
}
)";

struct Gpu {
  NS::SharedPtr<NS::AutoreleasePool> pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  Library library = compile(kPrologue + std::string(kSource));
  NS::SharedPtr<MTL::CommandQueue> queue = NS::TransferPtr(device()->newCommandQueue());

  NS::SharedPtr<MTL::Buffer> buffer(size_t bytes) {
    return NS::TransferPtr(device()->newBuffer(bytes, MTL::ResourceStorageModeShared));
  }
  // Runs 64 threads with buffers 0 and 1 bound and the others made resident.
  void run(const char* entry, MTL::Buffer* zero, MTL::Buffer* one, std::vector<MTL::Buffer*> used) {
    NS::Error* error = nullptr;
    auto function = NS::TransferPtr(
        library.library->newFunction(NS::String::string(entry, NS::UTF8StringEncoding)));
    ASSERT_TRUE(function);
    auto pipeline = NS::TransferPtr(device()->newComputePipelineState(function.get(), &error));
    ASSERT_TRUE(pipeline) << error->localizedDescription()->utf8String();
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline.get());
    if (zero) encoder->setBuffer(zero, 0, 0);
    encoder->setBuffer(one, 0, 1);
    for (MTL::Buffer* each : used)
      encoder->useResource(each, MTL::ResourceUsageRead | MTL::ResourceUsageWrite);
    encoder->dispatchThreads(MTL::Size(64, 1, 1), MTL::Size(32, 1, 1));
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    ASSERT_EQ(commands->status(), MTL::CommandBufferStatusCompleted);
  }
};

TEST(ArgumentBuffers, PointersInConstantStruct) {
  Gpu gpu;
  ASSERT_TRUE(gpu.library.library) << gpu.library.error;
  auto out = gpu.buffer(64 * 4), values = gpu.buffer(64 * 4), factor = gpu.buffer(4),
       arguments = gpu.buffer(24);
  for (int i = 0; i < 64; ++i) static_cast<float*>(values->contents())[i] = float(i);
  *static_cast<uint32_t*>(factor->contents()) = 3;
  auto* words = static_cast<uint64_t*>(arguments->contents());
  words[0] = values->gpuAddress();
  words[1] = factor->gpuAddress();
  words[2] = 7;
  gpu.run("gather", out.get(), arguments.get(), {values.get(), factor.get()});
  for (int i = 0; i < 64; ++i) EXPECT_EQ(static_cast<float*>(out->contents())[i], float(3 * i + 7));
}

TEST(ArgumentBuffers, ArrayOfStructsWithWritablePointers) {
  Gpu gpu;
  ASSERT_TRUE(gpu.library.library) << gpu.library.error;
  auto even = gpu.buffer(32 * 4), odd = gpu.buffer(32 * 4), chunks = gpu.buffer(32);
  auto* words = static_cast<uint64_t*>(chunks->contents());
  words[0] = even->gpuAddress();
  words[1] = 32;
  words[2] = odd->gpuAddress();
  words[3] = 10;  // the rest of this chunk stays untouched
  gpu.run("scatter", nullptr, chunks.get(), {even.get(), odd.get()});
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(static_cast<float*>(even->contents())[i], float(2 * i));
    EXPECT_EQ(static_cast<float*>(odd->contents())[i], i < 10 ? float(2 * i + 1) : 0.0f);
  }
}

}  // namespace
