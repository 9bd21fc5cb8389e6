// Eight threads on one device: encoders, sessions, graphs, a shared pool and registry, completion
// on other threads. Its main judge is the thread sanitizer.
#include <atomic>
#include <thread>

#include "mlxn/base/strings.h"
#include "mlxn/core/encode/session.h"
#include "mlxn/core/graph/graph_session.h"
#include "mlxn/core/memory/pool.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

constexpr int kThreads = 8, kRounds = 40;
constexpr size_t kLength = 96;

// Every thread has work and results of its own; what they share is the runtime.
class Worker {
 public:
  Worker(Device device, KernelRegistry& registry, BufferPool& pool, int number)
      : device_(std::move(device)), registry_(registry), pool_(pool), number_(number) {}

  Status run() {
    MLXN_ASSIGN(Device queue, device_.with_new_queue());
    if (number_ % 2) device_ = queue;  // half of them share the first queue
    for (int round = 0; round < kRounds; ++round) {
      MLXN_ASSIGN(inc_, registry_.get_pipeline("inc_one", device_));
      MLXN_TRY(round % 3 == 0 ? encoders() : round % 3 == 1 ? sessions() : graphs());
    }
    return {};
  }

 private:
  Status inc(ComputeEncoder& encoder, const Buffer& in, const Buffer& out) {
    return encoder.encode(inc_, {{0, &in}, {1, &out}}, width(kLength), width(32));
  }
  Result<Buffer> fresh() {
    MLXN_ASSIGN(Buffer buffer, pool_.alloc(Dtype::kF32, {kLength}));
    MLXN_ASSIGN(auto view, buffer.as_mut_slice<float>());
    std::ranges::fill(view, static_cast<float>(number_));
    return buffer;
  }
  Status expect(const Buffer& buffer, float steps) {
    MLXN_ASSIGN(auto view, buffer.as_slice<float>());
    for (float value : view) {
      if (value != static_cast<float>(number_) + steps) {
        return Error(ErrorCode::kInternal, str("thread ", number_, ": ", value, ", expected ",
                                               static_cast<float>(number_) + steps));
      }
    }
    return {};
  }

  Status encoders() {
    MLXN_ASSIGN(Buffer a, fresh());
    MLXN_ASSIGN(Buffer b, fresh());
    MLXN_ASSIGN(CommandEncoder first, device_.command_encoder());
    MLXN_TRY(inc(first, a, b));
    MLXN_TRY(first.commit());
    {
      MLXN_ASSIGN(Buffer dropped, fresh());  // used by the GPU, gone from here
      MLXN_ASSIGN(CommandEncoder other, device_.command_encoder());
      MLXN_TRY(inc(other, dropped, dropped));
      MLXN_TRY(other.commit_labeled(str("thread", number_)));
    }
    MLXN_ASSIGN(CommandEncoder second, device_.command_encoder());
    MLXN_TRY(inc(second, b, a));
    MLXN_TRY(second.commit_and_wait());
    MLXN_TRY(first.wait_until_completed());
    return expect(a, 2);
  }

  Status sessions() {
    MLXN_ASSIGN(Buffer a, fresh());
    MLXN_ASSIGN(EncoderSession session, device_.encoder_session());
    for (int stage = 0; stage < 4; ++stage) {
      session.begin_stage(str("stage", stage));
      MLXN_TRY(inc(session.encoder(), a, a));
      MLXN_TRY(session.fence_stage());
      MLXN_TRY(session.reset_for_next_stage());
    }
    MLXN_TRY(session.commit_and_wait());
    return expect(a, 4);
  }

  Status graphs() {
    MLXN_ASSIGN(Buffer a, fresh());
    MLXN_ASSIGN(Buffer b, fresh());
    MLXN_ASSIGN(GraphSession session, device_.graph_session({.record = true}));
    MLXN_TRY(inc(session.encoder(), a, b));
    MLXN_TRY(inc(session.encoder(), b, a));
    FinishOptions options;
    options.reorder = true;
    options.two_command_buffers = number_ % 3 == 0;
    MLXN_TRY(session.finish(options));
    return expect(a, 2);
  }

  Device device_;
  KernelRegistry& registry_;
  BufferPool& pool_;
  int number_;
  Pipeline inc_;
};

TEST(Stress, EightThreadsOnOneDevice) {
  RuntimeOptions options;
  options.auto_barrier = options.profile_command_buffers = options.profile_dispatches = true;
  const Device device = make_device(options);
  KernelRegistry registry;
  registry.register_library("core_test", kKernelSource);
  {
    BufferPool pool(device, {.max_free_bytes = 64 * 1024});
    std::vector<std::thread> threads;
    std::atomic<bool> stop = false;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] { EXPECT_OK(Worker(device, registry, pool, i).run()); });
    }
    // A ninth looks on.
    std::thread observer([&] {
      while (!stop) {
        (void)device.counters();
        (void)process_counters();
        (void)device.profile().to_json();
        (void)pool.stats();
        (void)registry.stats();
        std::this_thread::yield();
      }
    });
    for (std::thread& thread : threads) thread.join();
    stop = true;
    observer.join();
    EXPECT_OK(device.synchronize());
    EXPECT_EQ(pool.stats().in_use_count, 0u);
  }
  const Counters counters = device.counters();
  EXPECT_EQ(counters.residency_allocations, 0u);
  EXPECT_GE(counters.dispatches, uint64_t{kThreads} * kRounds * 2);
  EXPECT_EQ(registry.stats().compiled, 1u);
}

TEST(Stress, DevicesComeAndGoOnAllThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([i] {
      for (int round = 0; round < 10; ++round) {
        const Device device = make_null_device();
        BufferPool pool(device);
        Buffer buffer = *pool.alloc(Dtype::kF32, {kLength});
        CommandEncoder encoder = *device.command_encoder();
        if (i % 2) EXPECT_OK(encoder.commit());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace mlxn::test
