// compat: excluded (guards around memory of kernels on the host are ours)
// Stores and loads outside of the memory they are meant for: errors with guards, harmless without.
#include <numeric>
#include <tuple>

#include "api_test.h"

namespace mlxn_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kShared = MTL::ResourceStorageModeShared;

const char* const kSource = R"(
#include <metal_stdlib>
using namespace metal;
struct Place { device int* at; };

kernel void store(device int* out [[buffer(0)]], constant int& first [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
  out[first + int(i)] = -1;
}
kernel void load(device int* out [[buffer(0)]], constant int& first [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
  out[0] = out[first + int(i)];
}
kernel void store_declared(device int* out [[buffer(0)]], constant int& first [[buffer(1)]],
                           uint i [[thread_position_in_grid]]) {
  threadgroup int shared[64];
  shared[first + int(i)] = int(i);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = shared[63 - i] + simd_sum(int(i));
}
kernel void store_given(device int* out [[buffer(0)]], constant int& first [[buffer(1)]],
                        threadgroup int* shared [[threadgroup(3)]],
                        uint i [[thread_position_in_grid]]) {
  shared[first + int(i)] = int(i);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = shared[63 - i] + simd_sum(int(i));
}
kernel void store_at(constant Place& place [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  place.at[i] = int(i) + 1;
}
)";

class GuardFixture : public ApiTest {
 protected:
  void TearDown() override {
    lib_.reset();
    ApiTest::TearDown();
  }

  void use_device(int tier, uint32_t guard) {
    mlxn::metal::DeviceOptions options;
    options.executor = "cpu";
    options.worker_count = 2;
    options.cache = false;
    options.forced_tier = tier;
    options.guard_memory = guard;
    NS::Error* error = nullptr;
    device = TransferPtr(mlxn::metal::create_device(options, &error));
    ASSERT_TRUE(device) << text(error);
    queue = TransferPtr(device->newCommandQueue());
    lib_ = library(kSource);
  }

  // Runs one simdgroup of a kernel; its error.
  template <class Bind>
  std::string run(const char* name, Bind bind) {
    NS::Error* error = nullptr;
    auto function = TransferPtr(lib_->newFunction(string(name)));
    auto state = TransferPtr(device->newComputePipelineState(function.get(), &error));
    EXPECT_TRUE(state) << text(error);
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(state.get());
    bind(encoder);
    encoder->dispatchThreads(MTL::Size(32, 1, 1), MTL::Size(32, 1, 1));
    encoder->endEncoding();
    const std::string result = finish(commands);
    if (!result.empty()) {
      EXPECT_EQ(commands->error()->code(), MTL::CommandBufferErrorPageFault);
    }
    return result;
  }

  // With accesses from element `first` on.
  std::string run_from(const char* name, MTL::Buffer* out, int first, NS::UInteger shared = 0) {
    return run(name, [&](auto* encoder) {
      encoder->setBuffer(out, 0, 0);
      encoder->setBytes(&first, sizeof(first), 1);
      if (shared) encoder->setThreadgroupMemoryLength(shared, 3);
    });
  }

 private:
  Ptr<MTL::Library> lib_;
};

// Forced tier and level of the guard.
class MemoryGuardTest : public GuardFixture,
                        public ::testing::WithParamInterface<std::tuple<int, uint32_t>> {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    use_device(std::get<0>(GetParam()), level());
  }
  uint32_t level() const { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Tiers, MemoryGuardTest,
                         ::testing::Combine(::testing::Values(-1, 1, 2, 3),
                                            ::testing::Values(1u, 2u)));

TEST_P(MemoryGuardTest, StoresBehindABufferAreErrors) {
  // The last length is no multiple of 16: the guard begins at the next one.
  for (NS::UInteger length : {128u, 256u, 4096u, 1u << 20, 120u}) {
    auto out = buffer(length);
    const int first = int(length / sizeof(int)) - 31;
    if (length % 16 == 0) {
      EXPECT_EQ(run_from("store", out.get(), first - 1), "") << length;
    }
    const std::string bytes = std::to_string(length);
    EXPECT_THAT(run_from("store", out.get(), first + int(length % 16 / sizeof(int))),
                AllOf(HasSubstr("dispatch of kernel \"store\""),
                      HasSubstr(" of buffer 0, which has " + bytes), HasSubstr("SIGSEGV")));
  }
}

TEST_P(MemoryGuardTest, LoadsBehindABufferAreErrorsOfLevelTwo) {
  auto out = buffer(256);
  EXPECT_EQ(run_from("load", out.get(), 32), "");
  const std::string error = run_from("load", out.get(), 33);
  if (level() == 1) {
    EXPECT_EQ(error, "");
  } else {
    EXPECT_THAT(error, HasSubstr("at byte 256 of buffer 0, which has 256"));
  }
}

TEST_P(MemoryGuardTest, StoresInFrontOfABufferAreErrors) {
  auto out = buffer(4096);
  EXPECT_NE(run_from("store", out.get(), -32), "");
  auto small = buffer(256);
  EXPECT_NE(run_from("store", small.get(), -1024), "");
}

TEST_P(MemoryGuardTest, ThreadgroupMemoryHasGuards) {
  auto out = buffer(32 * sizeof(int));
  EXPECT_EQ(run_from("store_declared", out.get(), 32), "");
  EXPECT_THAT(run_from("store_declared", out.get(), 64),
              HasSubstr("at byte 256 of the kernel's threadgroup memory, which has 256"));
  EXPECT_EQ(run_from("store_given", out.get(), 32, 256), "");
  EXPECT_THAT(run_from("store_given", out.get(), 64, 256),
              HasSubstr("at byte 256 of threadgroup memory 3, which has 256"));
  // The worker's block has been larger since.
  EXPECT_EQ(run_from("store_given", out.get(), 64, 512), "");
  EXPECT_NE(run_from("store_given", out.get(), 64, 256), "");
}

TEST_P(MemoryGuardTest, BuffersOfAHeapLieApart) {
  auto descriptor = TransferPtr(MTL::HeapDescriptor::alloc()->init());
  descriptor->setSize(4096);
  descriptor->setStorageMode(MTL::StorageModeShared);
  auto heap = TransferPtr(device->newHeap(descriptor.get()));
  auto first = TransferPtr(heap->newBuffer(256, kShared));
  auto second = TransferPtr(heap->newBuffer(256, kShared));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(heap->usedSize(), 512u);
  EXPECT_EQ(run_from("store", first.get(), 32), "");
  EXPECT_NE(run_from("store", first.get(), 64), "");
  EXPECT_EQ(static_cast<int*>(first->contents())[63], -1);
  EXPECT_EQ(static_cast<int*>(second->contents())[0], 0);
}

TEST_P(MemoryGuardTest, FreedMemoryIsOutOfReach) {
  auto place = buffer(128);
  const uint64_t address = place->gpuAddress();
  auto store = [&] {
    return run("store_at", [&](auto* encoder) {
      encoder->setBytes(&address, sizeof(address), 0);
      if (place) encoder->useResource(place.get(), MTL::ResourceUsageWrite);
    });
  };
  EXPECT_EQ(store(), "");
  EXPECT_EQ(static_cast<int*>(place->contents())[31], 32);
  renew_pool();
  place.reset();
  EXPECT_THAT(store(), HasSubstr("in memory that has been freed"));
}

// A public library's FFT stores past the end of its output, into what is unused of a page on a Mac.
TEST_F(GuardFixture, WithoutGuardsAPageBehindABufferIsNobodys) {
  use_device(-1, 0);
  for (NS::UInteger length : {64u, 256u, 4096u, 1u << 20}) {
    std::vector<Ptr<MTL::Buffer>> buffers;
    for (int i = 0; i < 8; ++i) {
      buffers.push_back(buffer(length));
      std::memset(buffers.back()->contents(), 0x11, length);
    }
    const int end = int(length / sizeof(int));
    for (auto& one : buffers) {
      EXPECT_EQ(run_from("store", one.get(), end), "");
      EXPECT_EQ(run_from("store", one.get(), end + 1024 - 32), "");
    }
    for (auto& one : buffers) {
      const auto* bytes = static_cast<unsigned char*>(one->contents());
      EXPECT_EQ(std::accumulate(bytes, bytes + length, uint64_t{0}), 0x11 * length);
    }
  }
}

}  // namespace
}  // namespace mlxn_test
