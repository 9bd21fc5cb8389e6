// Kernels through the whole stack: bindings checked against reflection, order, argument buffers,
// indirect dispatch.
#include <numeric>

#include "api_test.h"

namespace mlxn_test {
namespace {

using ::testing::HasSubstr;

class DispatchTest : public KernelTest {
 protected:
  static constexpr const char* kSource =
      "#include <metal_stdlib>\nusing namespace metal;\n"
      "struct Params { int count; float scale; };\n"
      "struct Table { device float* left; device float* right; int count; };\n"
      "kernel void inc_one(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
      "  x[i] += 1.0f;\n"
      "}\n"
      "kernel void scaled(device float4* x [[buffer(0)]], constant Params& p [[buffer(1)]],\n"
      "                   uint i [[thread_position_in_grid]]) {\n"
      "  if (int(i) < p.count) x[i] *= p.scale;\n"
      "}\n"
      "kernel void tiled(device int* x [[buffer(0)]], threadgroup int* tile [[threadgroup(0)]],\n"
      "                  uint i [[thread_index_in_threadgroup]],\n"
      "                  uint n [[threads_per_threadgroup]]) {\n"
      "  tile[i] = x[i];\n"
      "  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
      "  x[i] = tile[n - 1 - i];\n"
      "}\n"
      "kernel void big(device int* x [[buffer(0)]], threadgroup int* tile [[threadgroup(0)]],\n"
      "                uint i [[thread_index_in_threadgroup]]) {\n"
      "  threadgroup int fixed[4096];\n"
      "  fixed[i] = x[i]; tile[i] = fixed[i];\n"
      "  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
      "  x[i] = tile[i] + fixed[i ^ 1];\n"
      "}\n"
      "kernel void add_tables(device const Table& t [[buffer(0)]], device float* out "
      "[[buffer(1)]],\n"
      "                       uint i [[thread_position_in_grid]]) {\n"
      "  if (int(i) < t.count) out[i] = t.left[i] + t.right[i];\n"
      "}\n"
      "kernel void count(device atomic_uint* n [[buffer(0)]]) {\n"
      "  atomic_fetch_add_explicit(n, 1u, memory_order_relaxed);\n"
      "}\n";

  Ptr<MTL::ComputePipelineState> kernel(const char* name) { return pipeline(kSource, name); }

  template <class Encode>
  std::string run(Encode encode, MTL::DispatchType type = MTL::DispatchTypeSerial) {
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder(type);
    encode(encoder);
    encoder->endEncoding();
    return finish(commands);
  }
};

TEST_F(DispatchTest, IncOneAtOddSizes) {
  auto state = kernel("inc_one");
  for (NS::UInteger group : {1, 31, 33, 100, 1024}) {
    auto data = buffer(1000 * sizeof(float));
    EXPECT_EQ(run([&](auto* e) {
                e->setComputePipelineState(state.get());
                e->setBuffer(data.get(), 0, 0);
                e->dispatchThreads(MTL::Size(999, 1, 1), MTL::Size(group, 1, 1));
              }),
              "");
    auto* values = static_cast<float*>(data->contents());
    for (int i = 0; i < 999; ++i) ASSERT_EQ(values[i], 1.0f) << i;
    EXPECT_EQ(values[999], 0.0f);
  }
}

TEST_F(DispatchTest, SerialDispatchesSeeEachOther) {
  auto state = kernel("inc_one");
  auto data = buffer(256 * sizeof(float));
  EXPECT_EQ(run([&](auto* e) {
              e->setComputePipelineState(state.get());
              e->setBuffer(data.get(), 0, 0);
              for (int i = 0; i < 20; ++i) {
                e->dispatchThreadgroups(MTL::Size(4, 1, 1), MTL::Size(64, 1, 1));
              }
            }),
            "");
  EXPECT_EQ(static_cast<float*>(data->contents())[255], 20.0f);
}

TEST_F(DispatchTest, BarriersOrderConcurrentDispatches) {
  auto state = kernel("inc_one");
  auto data = buffer(4096 * sizeof(float));
  const MTL::Resource* resources[] = {data.get()};
  EXPECT_EQ(run(
                [&](auto* e) {
                  e->setComputePipelineState(state.get());
                  e->setBuffer(data.get(), 0, 0);
                  for (int i = 0; i < 10; ++i) {
                    e->dispatchThreads(MTL::Size(4096, 1, 1), MTL::Size(64, 1, 1));
                    if (i % 2) {
                      e->memoryBarrier(MTL::BarrierScopeBuffers);
                    } else {
                      e->memoryBarrier(resources, 1);
                    }
                  }
                },
                MTL::DispatchTypeConcurrent),
            "");
  auto* values = static_cast<float*>(data->contents());
  EXPECT_EQ(std::accumulate(values, values + 4096, 0.0), 40960.0);
}

TEST_F(DispatchTest, BytesAndOffsetsAreTakenAtTheDispatch) {
  struct {
    int count;
    float scale;
  } params = {4, 2.0f};
  auto state = kernel("scaled");
  auto data = buffer(256);
  auto* values = static_cast<float*>(data->contents());
  for (int i = 0; i < 64; ++i) values[i] = 1.0f;
  EXPECT_EQ(run([&](auto* e) {
              e->setComputePipelineState(state.get());
              e->setBuffer(data.get(), 0, 0);
              e->setBytes(&params, sizeof params, 1);
              e->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(4, 1, 1));
              params.scale = 3.0f;
              e->setBytes(&params, sizeof params, 1);
              e->setBufferOffset(64, 0);
              e->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(4, 1, 1));
            }),
            "");
  EXPECT_EQ(values[0], 2.0f);
  EXPECT_EQ(values[15], 2.0f);
  EXPECT_EQ(values[16], 3.0f);
  EXPECT_EQ(values[31], 3.0f);
  EXPECT_EQ(values[32], 1.0f);
}

TEST_F(DispatchTest, ThreadgroupMemoryHasTheLengthSet) {
  auto state = kernel("tiled");
  auto data = buffer(100 * sizeof(int));
  auto* values = static_cast<int*>(data->contents());
  std::iota(values, values + 100, 0);
  EXPECT_EQ(run([&](auto* e) {
              e->setComputePipelineState(state.get());
              e->setBuffer(data.get(), 0, 0);
              e->setThreadgroupMemoryLength(400, 0);
              e->dispatchThreads(MTL::Size(100, 1, 1), MTL::Size(100, 1, 1));
            }),
            "");
  EXPECT_EQ(values[0], 99);
  EXPECT_EQ(values[99], 0);
}

TEST_F(DispatchTest, BindingsAreCheckedAgainstTheKernel) {
  validate();
  auto state = kernel("scaled");
  auto data = buffer(256);
  struct {
    int count;
    float scale;
  } params = {1, 1};
  const MTL::Size one(1, 1, 1);
  EXPECT_THAT(run([&](auto* e) {
                e->setComputePipelineState(state.get());
                e->setBytes(&params, sizeof params, 1);
                e->dispatchThreads(one, one);
              }),
              HasSubstr("dispatchThreads: kernel 'scaled': argument 'x' at buffer index 0 has no "
                        "buffer bound"));
  EXPECT_THAT(run([&](auto* e) {
                e->setComputePipelineState(state.get());
                e->setBuffer(data.get(), 0, 0);
                e->setBytes(&params, 4, 1);
                e->dispatchThreads(one, one);
              }),
              HasSubstr("argument 'p' at buffer index 1 needs 8 bytes, but 4 are bound"));
  EXPECT_THAT(run([&](auto* e) {
                e->setComputePipelineState(state.get());
                e->setBuffer(data.get(), 0, 0);
                e->setBuffer(data.get(), 252, 1);
                e->dispatchThreads(one, one);
              }),
              HasSubstr("needs 8 bytes, but 4 are bound"));
  EXPECT_THAT(run([&](auto* e) {
                e->setComputePipelineState(state.get());
                e->setBuffer(data.get(), 8, 0);
                e->setBytes(&params, sizeof params, 1);
                e->dispatchThreads(one, one);
              }),
              HasSubstr("argument 'x' at buffer index 0 has offset 8, expected a multiple of 16"));
}

TEST_F(DispatchTest, ThreadgroupMemoryIsCheckedAgainstTheKernel) {
  validate();
  auto tiled = kernel("tiled");
  auto big = kernel("big");
  auto data = buffer(4096);
  const MTL::Size one(1, 1, 1);
  EXPECT_THAT(run([&](auto* e) {
                e->setComputePipelineState(tiled.get());
                e->setBuffer(data.get(), 0, 0);
                e->dispatchThreads(one, one);
              }),
              HasSubstr("argument 'tile' at threadgroup index 0 has no memory"));
  EXPECT_EQ(big->staticThreadgroupMemoryLength(), 16384u);
  EXPECT_THAT(run([&](auto* e) {
                e->setComputePipelineState(big.get());
                e->setBuffer(data.get(), 0, 0);
                e->setThreadgroupMemoryLength(16400, 0);
                e->dispatchThreads(one, one);
              }),
              HasSubstr("threadgroup memory 32784 bytes (16384 static), expected at most 32768"));
  EXPECT_EQ(run([&](auto* e) {
              e->setComputePipelineState(big.get());
              e->setBuffer(data.get(), 0, 0);
              e->setThreadgroupMemoryLength(16384, 0);
              e->dispatchThreads(MTL::Size(64, 1, 1), MTL::Size(64, 1, 1));
            }),
            "");
}

TEST_F(DispatchTest, IndirectCountsAreReadWhenTheDispatchStarts) {
  auto state = kernel("count");
  auto arguments = buffer(32), counter = buffer(4);
  auto* counts = static_cast<uint32_t*>(arguments->contents());
  counts[1] = counts[2] = counts[3] = 99;
  EXPECT_EQ(run([&](auto* e) {
              e->setComputePipelineState(state.get());
              e->setBuffer(counter.get(), 0, 0);
              e->dispatchThreadgroups(arguments.get(), 4, MTL::Size(10, 1, 1));
              counts[1] = 3, counts[2] = 2, counts[3] = 1;  // after encoding, before the run
            }),
            "");
  EXPECT_EQ(*static_cast<uint32_t*>(counter->contents()), 60u);
}

TEST_F(DispatchTest, ArgumentBuffersHoldAddresses) {
  auto lib = library(kSource);
  auto function = TransferPtr(lib->newFunction(string("add_tables")));
  NS::Error* error = nullptr;
  auto state = TransferPtr(device->newComputePipelineState(function.get(), &error));
  ASSERT_TRUE(state) << text(error);
  MTL::AutoreleasedArgument reflection = nullptr;
  auto arguments = TransferPtr(function->newArgumentEncoder(0, &reflection));
  ASSERT_TRUE(arguments);
  ASSERT_TRUE(reflection);
  EXPECT_EQ(text(reflection->name()), "t");
  EXPECT_EQ(arguments->encodedLength(), 24u);
  EXPECT_EQ(arguments->alignment(), 8u);
  auto table = buffer(64), left = buffer(64), right = buffer(64), out = buffer(64);
  for (int i = 0; i < 16; ++i) {
    static_cast<float*>(left->contents())[i] = static_cast<float>(i);
    static_cast<float*>(right->contents())[i] = 100;
  }
  arguments->setBuffer(left.get(), 0, 0);
  EXPECT_THAT(messages().back(), HasSubstr("no argument buffer; call setArgumentBuffer first"));
  arguments->setArgumentBuffer(table.get(), 0, 1);  // the second element of an array
  arguments->setBuffer(left.get(), 0, 0);
  arguments->setBuffer(right.get(), 4, 1);
  int count = 15;
  std::memcpy(arguments->constantData(2), &count, sizeof count);
  EXPECT_EQ(run([&](auto* e) {
              e->setComputePipelineState(state.get());
              e->setBuffer(table.get(), 24, 0);
              e->setBuffer(out.get(), 0, 1);
              e->useResource(left.get(), MTL::ResourceUsageRead);
              e->useResource(right.get(), MTL::ResourceUsageRead);
              e->dispatchThreads(MTL::Size(16, 1, 1), MTL::Size(16, 1, 1));
            }),
            "");
  auto* sums = static_cast<float*>(out->contents());
  EXPECT_EQ(sums[14], 114.0f);
  EXPECT_EQ(sums[15], 0.0f);

  // The same by hand: tier 2 means plain addresses.
  struct {
    uint64_t left, right;
    int32_t count;
  } by_hand = {right->gpuAddress(), left->gpuAddress(), 2};
  EXPECT_EQ(run([&](auto* e) {
              e->setComputePipelineState(state.get());
              e->setBytes(&by_hand, sizeof by_hand, 0);
              e->setBuffer(out.get(), 0, 1);
              e->dispatchThreads(MTL::Size(2, 1, 1), MTL::Size(2, 1, 1));
            }),
            "");
  EXPECT_EQ(sums[1], 101.0f);

  EXPECT_EQ(arguments->constantData(0), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("argument 0 is of type pointer, expected a constant"));
  arguments->setBuffer(left.get(), 0, 7);
  EXPECT_THAT(messages().back(), HasSubstr("index 7, expected one of the 3 arguments"));
  arguments->setArgumentBuffer(table.get(), 48);
  EXPECT_THAT(messages().back(), HasSubstr("offset 48, expected a multiple of 8 with 24 bytes"));
  EXPECT_EQ(function->newArgumentEncoder(1), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("is not a struct in a buffer"));
  EXPECT_EQ(function->newArgumentEncoder(5), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("no buffer argument at index 5"));
}

TEST_F(DispatchTest, ArgumentDescriptorsLayOutAStruct) {
  auto pointer = NS::RetainPtr(MTL::ArgumentDescriptor::argumentDescriptor());
  pointer->setDataType(MTL::DataTypePointer);
  pointer->setIndex(1);
  pointer->setAccess(MTL::BindingAccessReadWrite);
  auto number = NS::RetainPtr(MTL::ArgumentDescriptor::argumentDescriptor());
  number->setDataType(MTL::DataTypeInt);
  number->setIndex(0);
  const NS::Object* list[] = {pointer.get(), number.get()};
  auto arguments = TransferPtr(device->newArgumentEncoder(NS::Array::array(list, 2)));
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->encodedLength(), 16u);
  auto table = buffer(16), data = buffer(64);
  arguments->setArgumentBuffer(table.get(), 0);
  arguments->setBuffer(data.get(), 16, 1);
  *static_cast<int*>(arguments->constantData(0)) = 5;
  EXPECT_EQ(static_cast<int*>(table->contents())[0], 5);
  EXPECT_EQ(static_cast<uint64_t*>(table->contents())[1], data->gpuAddress() + 16);
  number->setIndex(1);
  EXPECT_EQ(device->newArgumentEncoder(NS::Array::array(list, 2)), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("indices that do not overlap"));
}

TEST_F(DispatchTest, EventsJoinKernelsOfTwoQueues) {
  auto state = kernel("inc_one");
  auto other = TransferPtr(device->newCommandQueue());
  auto event = TransferPtr(device->newEvent());
  auto data = buffer(64 * sizeof(float));
  auto encode = [&](MTL::CommandBuffer* commands) {
    auto* e = commands->computeCommandEncoder();
    e->setComputePipelineState(state.get());
    e->setBuffer(data.get(), 0, 0);
    e->dispatchThreads(MTL::Size(64, 1, 1), MTL::Size(64, 1, 1));
    e->endEncoding();
  };
  auto* second = other->commandBuffer();
  second->encodeWait(event.get(), 1);
  encode(second);
  second->commit();
  auto* first = queue->commandBuffer();
  encode(first);
  first->encodeSignalEvent(event.get(), 1);
  first->commit();
  second->waitUntilCompleted();
  EXPECT_EQ(second->status(), MTL::CommandBufferStatusCompleted) << text(second->error());
  EXPECT_EQ(static_cast<float*>(data->contents())[63], 2.0f);
  EXPECT_GE(second->GPUEndTime(), first->GPUStartTime());
}

TEST_F(DispatchTest, HeapAndPrivateMemoryWorkAsBindings) {
  auto state = kernel("inc_one");
  auto descriptor = TransferPtr(MTL::HeapDescriptor::alloc()->init());
  descriptor->setSize(4096);
  descriptor->setResourceOptions(MTL::ResourceStorageModePrivate);
  auto heap = TransferPtr(device->newHeap(descriptor.get()));
  auto skip = TransferPtr(heap->newBuffer(256, MTL::ResourceStorageModePrivate));
  auto data = TransferPtr(heap->newBuffer(64, MTL::ResourceStorageModePrivate));
  auto out = buffer(64);
  auto* commands = queue->commandBuffer();
  auto* e = commands->computeCommandEncoder();
  e->setComputePipelineState(state.get());
  e->setBuffer(data.get(), 0, 0);
  e->useHeap(heap.get());
  e->dispatchThreads(MTL::Size(16, 1, 1), MTL::Size(16, 1, 1));
  e->endEncoding();
  auto* blit = commands->blitCommandEncoder();
  blit->copyFromBuffer(data.get(), 0, out.get(), 0, 64);
  blit->endEncoding();
  EXPECT_EQ(finish(commands), "");
  EXPECT_EQ(static_cast<float*>(out->contents())[15], 1.0f);
}

}  // namespace
}  // namespace mlxn_test
