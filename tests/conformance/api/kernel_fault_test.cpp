// compat: excluded (forced tiers, the watchdog and faults of kernels on the host are ours)
// A fault of a kernel, or a kernel without an end, is an error of its command buffer and of nothing
// else.
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "api_test.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MLXN_TEST_TSAN 1
#endif
#endif

namespace mlxn_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const char* const kSource = R"(
#include <metal_stdlib>
using namespace metal;
struct Place { device int* at; };

kernel void store(constant Place& place [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  place.at[i] = 1;
}
kernel void store_after_barrier(constant Place& place [[buffer(0)]],
                                uint i [[thread_position_in_grid]],
                                uint k [[thread_index_in_threadgroup]]) {
  threadgroup int shared[32];
  shared[k] = int(i);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const int sum = simd_sum(shared[31 - k]);
  place.at[i] = sum + shared[31 - k];
}
kernel void fill(device int* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  out[i] = int(i) + 1;
}
kernel void divide(device int* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  out[i + 2] = out[0] / out[1];
}
kernel void wait_for(device atomic_int* flag [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  while (atomic_load_explicit(flag, memory_order_relaxed) == 0) {}
  atomic_fetch_add_explicit(flag, 1, memory_order_relaxed);
}
kernel void wait_at_barrier(device atomic_int* flag [[buffer(0)]],
                            uint k [[thread_index_in_threadgroup]]) {
  threadgroup int seen;
  do {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (k == 0) seen = atomic_load_explicit(flag, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  } while (seen == 0);
}
)";

// With each forced tier; -1 leaves it to the compiler.
class KernelFaultTest : public ApiTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    use_device(0, {});
  }
  void TearDown() override {
    lib.reset();
    ApiTest::TearDown();
  }

  void use_device(uint32_t watchdog_ms, Validation validation) {
    mlxn::metal::DeviceOptions options;
    options.executor = "cpu";
    options.worker_count = 2;
    options.cache = false;
    options.forced_tier = GetParam();
    options.watchdog_ms = watchdog_ms;
    options.validation = validation;
    NS::Error* error = nullptr;
    device = TransferPtr(mlxn::metal::create_device(options, &error));
    ASSERT_TRUE(device) << text(error);
    queue = TransferPtr(device->newCommandQueue());
    lib = library(kSource);
  }

  Ptr<MTL::ComputePipelineState> kernel(const char* name) {
    NS::Error* error = nullptr;
    auto function = TransferPtr(lib->newFunction(string(name)));
    auto state = TransferPtr(device->newComputePipelineState(function.get(), &error));
    EXPECT_TRUE(state) << text(error);
    return state;
  }

  template <class Bind>
  MTL::CommandBuffer* encode(const Ptr<MTL::ComputePipelineState>& state, Bind bind,
                             NS::UInteger groups = 64) {
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(state.get());
    bind(encoder);
    encoder->dispatchThreadgroups(MTL::Size(groups, 1, 1), MTL::Size(32, 1, 1));
    encoder->endEncoding();
    return commands;
  }

  // A buffer that stores at an address.
  MTL::CommandBuffer* encode_store(const char* name, uint64_t address) {
    return encode(kernel(name),
                  [&](auto* encoder) { encoder->setBytes(&address, sizeof(address), 0); });
  }

  void expect_good_run() {
    auto out = buffer(64 * 32 * sizeof(int));
    EXPECT_EQ(finish(encode(kernel("fill"), [&](auto* e) { e->setBuffer(out.get(), 0, 0); })), "");
    for (int i = 0; i < 64 * 32; ++i) ASSERT_EQ(static_cast<int*>(out->contents())[i], i + 1);
  }

  Ptr<MTL::Library> lib;
};

INSTANTIATE_TEST_SUITE_P(Tiers, KernelFaultTest, ::testing::Values(-1, 1, 2, 3));

TEST_P(KernelFaultTest, AStoreOutsideMemoryIsAnError) {
  for (const char* name : {"store", "store_after_barrier"}) {
    auto* commands = encode_store(name, 0x100);
    const std::string error = finish(commands);
    EXPECT_THAT(error, HasSubstr(std::string("dispatch of kernel \"") + name + "\""));
    // Any threadgroup may be the first: 0x100 to 0x20ff.
    EXPECT_THAT(error,
                ContainsRegex(
                    "SIGSEGV( of a store)? at address 0x([1-9a-f]|1[0-9a-f]|20)[0-9a-f][0-9a-f]$"));
    EXPECT_EQ(commands->error()->code(), MTL::CommandBufferErrorPageFault);
    expect_good_run();
  }
}

TEST_P(KernelFaultTest, FaultsAgainAndAgain) {
  auto state = kernel("store_after_barrier");
  const uint64_t address = 0x100;
  for (int i = 0; i < 50; ++i) {
    EXPECT_THAT(finish(encode(state, [&](auto* e) { e->setBytes(&address, sizeof(address), 0); })),
                HasSubstr("SIGSEGV"));
  }
  expect_good_run();
}

TEST_P(KernelFaultTest, FaultsOfSeveralQueues) {
  auto bad = kernel("store"), good = kernel("fill");
  auto work = [&](bool fails) {
    auto* pool = NS::AutoreleasePool::alloc()->init();
    auto own = TransferPtr(device->newCommandQueue());
    auto out = buffer(64 * 32 * sizeof(int));
    const uint64_t address = 0x100;
    for (int i = 0; i < 20; ++i) {
      auto* commands = own->commandBuffer();
      auto* encoder = commands->computeCommandEncoder();
      encoder->setComputePipelineState((fails ? bad : good).get());
      if (fails) encoder->setBytes(&address, sizeof(address), 0);
      if (!fails) encoder->setBuffer(out.get(), 0, 0);
      encoder->dispatchThreadgroups(MTL::Size(64, 1, 1), MTL::Size(32, 1, 1));
      encoder->endEncoding();
      EXPECT_EQ(finish(commands).empty(), !fails);
    }
    pool->release();
  };
  std::thread first([&] { work(true); }), second([&] { work(false); });
  work(true);
  first.join();
  second.join();
}

TEST_P(KernelFaultTest, AnAddressThatNoMachineHas) {
  EXPECT_THAT(finish(encode_store("store", 0x7777'7777'7777'0000)),
              HasSubstr("SIGSEGV, a vector that is not aligned or an address that no machine has"));
  expect_good_run();
}

// Metal leaves the result open.
TEST_P(KernelFaultTest, DivisionsByZeroDoNoHarm) {
  auto out = buffer((64 * 32 + 2) * sizeof(int));
  for (int numerator : {7, INT32_MIN}) {
    static_cast<int*>(out->contents())[0] = numerator;
    static_cast<int*>(out->contents())[1] = numerator == 7 ? 0 : -1;
    const std::string error =
        finish(encode(kernel("divide"), [&](auto* e) { e->setBuffer(out.get(), 0, 0); }));
    if (!error.empty()) EXPECT_THAT(error, HasSubstr("an integer division without a result"));
    expect_good_run();
  }
}

TEST_P(KernelFaultTest, AStoreWhereNothingIsBound) {
  use_device(0, false);
  EXPECT_THAT(finish(encode(kernel("fill"), [](auto*) {})),
              HasSubstr("a store where nothing is bound"));
  expect_good_run();
}

// The program's own handlers get what is not a kernel's.
TEST_P(KernelFaultTest, OtherFaultsGoToTheProgram) {
  auto run = [&](bool own_handler) {
    if (own_handler) {
      struct sigaction action = {};
      action.sa_handler = [](int) { _exit(42); };
      ::sigaction(SIGSEGV, &action, nullptr);
    } else {
      ::signal(SIGSEGV, SIG_DFL);
    }
    mlxn::metal::DeviceOptions options;
    options.executor = "cpu";
    options.worker_count = 2;
    NS::Error* error = nullptr;
    device = TransferPtr(mlxn::metal::create_device(options, &error));
    queue = TransferPtr(device->newCommandQueue());
    lib = library(kSource);
    if (finish(encode_store("store", 0x100)).find("SIGSEGV") == std::string::npos) _exit(1);
    *reinterpret_cast<volatile int*>(0x100) = 1;
    _exit(2);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run(true), ::testing::ExitedWithCode(42), "");
#if !defined(__SANITIZE_ADDRESS__) && !defined(MLXN_TEST_TSAN)
  EXPECT_EXIT(run(false), ::testing::KilledBySignal(SIGSEGV), "");
#endif
}

// Under the thread sanitizer signals from other threads wait for instrumented code, which kernels
// are not.
#ifndef MLXN_TEST_TSAN
TEST_P(KernelFaultTest, TheWatchdogStopsAKernelWithoutAnEnd) {
  use_device(50, {});
  auto flag = buffer(sizeof(int));
  for (const char* name : {"wait_for", "wait_at_barrier"}) {
    auto* commands = encode(kernel(name), [&](auto* e) { e->setBuffer(flag.get(), 0, 0); });
    const std::string error = finish(commands);
    EXPECT_THAT(error, HasSubstr(std::string("dispatch of kernel \"") + name + "\""));
    EXPECT_THAT(error, HasSubstr("longer than the watchdog's 50 ms"));
    EXPECT_EQ(commands->error()->code(), MTL::CommandBufferErrorTimeout);
  }
}

// One that ends in time is left alone, however often the watchdog looked at others.
TEST_P(KernelFaultTest, TheWatchdogLeavesOthersAlone) {
  use_device(1000, {});
  auto flag = buffer(sizeof(int));
  auto* endless = encode(kernel("wait_for"), [&](auto* e) { e->setBuffer(flag.get(), 0, 0); }, 1);
  endless->commit();
  auto other = TransferPtr(device->newCommandQueue());
  std::swap(queue, other);
  for (int i = 0; i < 20; ++i) expect_good_run();
  endless->waitUntilCompleted();
  EXPECT_EQ(endless->status(), MTL::CommandBufferStatusError);
}
#endif

}  // namespace
}  // namespace mlxn_test
