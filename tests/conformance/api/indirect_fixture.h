// Set-up of the tests of indirect command buffers: kernels, and commands that are quickly made.
#pragma once

#include "api_test.h"

namespace mlxn_test {

inline constexpr const char* kIndirectSource = R"(
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
kernel void past(device int* out [[buffer(0)]], constant uint& count [[buffer(1)]]) {
  out[count] = 1;
}
)";

inline constexpr auto kBoth =
    MTL::IndirectCommandTypeConcurrentDispatch | MTL::IndirectCommandTypeConcurrentDispatchThreads;
inline const MTL::Size kOne(1, 1, 1), kFour(4, 1, 1);

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
    lib_ = library(kIndirectSource);
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

}  // namespace mlxn_test
