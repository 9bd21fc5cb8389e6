// Failures put in on purpose: each comes out as an Error, nothing hangs, and the next try works.
#include <functional>
#include <optional>

#include "mlxn/base/strings.h"
#include "mlxn/core/encode/session.h"
#include "mlxn/core/graph/graph_session.h"
#include "mlxn/core/memory/pool.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

struct Faulty {
  explicit Faulty(const RuntimeOptions& options = {})
      : device(*Device::wrap(metal.get(), options)) {
    pipeline = kernel(device, "inc_one");
  }
  void inject(metal::Fault fault, uint64_t after) {
    metal::inject_fault(metal.get(), fault, after);
  }
  Status inc(ComputeEncoder& encoder, const Buffer& in, const Buffer& out) const {
    return encoder.encode(pipeline, {{0, &in}, {1, &out}}, width(out.element_count()), width(32));
  }

  NS::SharedPtr<MTL::Device> metal = make_metal_device();
  Device device;
  Pipeline pipeline;
};

// Everything that allocates: buffers of each kind, staging, the pool, sample buffers, sessions,
// graphs. Returns the first error; a right result otherwise.
Status use_everything(const Faulty& faulty) {
  const Device& device = faulty.device;
  MLXN_ASSIGN(Buffer a, device.alloc(Dtype::kF32, {64}));
  MLXN_ASSIGN(Buffer b, device.alloc_uninit(Dtype::kF32, {64}));
  MLXN_ASSIGN(Buffer hidden, device.alloc(Dtype::kF32, {64}, StorageMode::kPrivate));
  const std::vector<float> ones(64, 1.0f);
  MLXN_TRY(device.upload(std::as_bytes(std::span(ones)), hidden));
  BufferPool pool(device);
  MLXN_ASSIGN(auto batch, pool.alloc_batch({{Dtype::kF32, {64}}, {Dtype::kF32, {640}}}));
  MLXN_ASSIGN(CommandEncoder encoder, device.command_encoder());
  MLXN_TRY(faulty.inc(encoder, hidden, a));
  MLXN_TRY(encoder.commit_and_wait_labeled("encoder"));
  MLXN_ASSIGN(EncoderSession session, device.encoder_session());
  MLXN_TRY(faulty.inc(session.encoder(), a, batch[0]));
  MLXN_TRY(session.fence_stage("stage"));
  MLXN_TRY(session.reset_for_next_stage());
  MLXN_TRY(faulty.inc(session.encoder(), batch[0], b));
  MLXN_TRY(session.commit_and_wait());
  MLXN_ASSIGN(GraphSession graph, device.graph_session({.record = true}));
  MLXN_TRY(faulty.inc(graph.encoder(), b, hidden));
  MLXN_ASSIGN(FinishStats stats, graph.finish({.label = "graph"}));
  EXPECT_EQ(stats.dispatches, 1u);
  std::vector<float> result(64);
  MLXN_TRY(device.download(hidden, std::as_writable_bytes(std::span(result))));
  EXPECT_EQ(result, std::vector<float>(64, 5.0f));
  return {};
}

TEST(Faults, EveryAllocationMayFail) {
  RuntimeOptions options;
  options.profile_dispatches = options.profile_command_buffers = true;
  Faulty faulty(options);
  ASSERT_TRUE(use_everything(faulty));
  int failures = 0, without_samples = 0;
  for (uint64_t after = 0;; ++after) {
    LogLines quiet;
    faulty.device.profile().reset();
    faulty.inject(metal::Fault::kAllocation, after);
    const Status status = use_everything(faulty);
    if (!status) {
      EXPECT_EQ(to_string(status.error().code()), to_string(ErrorCode::kOutOfMemory))
          << status.error().to_string();
      ++failures;
    } else if (faulty.device.profile().dropped_samples() > 0) {
      ++without_samples;  // profiling is a luxury: the work itself goes on
    } else {
      break;  // the fault lies behind everything
    }
    EXPECT_OK(use_everything(faulty));
    ASSERT_LT(after, 100u);
  }
  // Two plain buffers, a private one, two for the pool, and staging for upload and download; sample
  // buffers of an encoder, two stages and a graph.
  EXPECT_EQ(failures, 7);
  EXPECT_EQ(without_samples, 4);
}

TEST(Faults, AFailedPipelineIsTriedAgain) {
  Faulty faulty;
  KernelRegistry registry;
  registry.register_library("core_test", kKernelSource);
  faulty.inject(metal::Fault::kPipeline, 0);
  auto failed = registry.get_pipeline("add", faulty.device);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), testing::HasSubstr("add"));
  EXPECT_FALSE(registry.is_cached("add", faulty.device));
  EXPECT_OK(registry.get_pipeline("add", faulty.device));
}

TEST(Faults, AFailedCommandBufferComesOutAtTheWait) {
  Faulty faulty;
  LogLines quiet;
  const Buffer a = zeros(faulty.device, 64), b = zeros(faulty.device, 64);
  CommandEncoder encoder = *faulty.device.command_encoder();
  EXPECT_OK(faulty.inc(encoder, a, b));
  faulty.inject(metal::Fault::kRun, 0);
  EXPECT_OK(encoder.commit_labeled("doomed"));
  Status status = encoder.wait_until_completed();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kExecutionFailed);
  EXPECT_THAT(status.error().message(), testing::HasSubstr("doomed"));
  EXPECT_TRUE(status.error().is_transient());
  EXPECT_FALSE(encoder.wait_until_completed());  // every time
  EXPECT_OK(faulty.device.synchronize());        // but it is not unseen any more
}

TEST(Faults, AnErrorNobodyWaitedForComesOutAtSynchronize) {
  Faulty faulty;
  LogLines quiet;
  const Buffer a = zeros(faulty.device, 64), b = zeros(faulty.device, 64);
  faulty.inject(metal::Fault::kRun, 0);
  {
    CommandEncoder encoder = *faulty.device.command_encoder();
    EXPECT_OK(faulty.inc(encoder, a, b));
    EXPECT_OK(encoder.commit());
  }
  EXPECT_ERROR(kExecutionFailed, faulty.device.synchronize());
  EXPECT_OK(faulty.device.synchronize());
}

TEST(Faults, NothingOfAFailedCommandBufferIsProfiled) {
  RuntimeOptions options;
  options.profile_dispatches = options.profile_command_buffers = true;
  Faulty faulty(options);
  LogLines quiet;
  const Buffer a = zeros(faulty.device, 64), b = zeros(faulty.device, 64);
  CommandEncoder encoder = *faulty.device.command_encoder();
  EXPECT_OK(faulty.inc(encoder, a, b));
  faulty.inject(metal::Fault::kRun, 0);
  EXPECT_FALSE(encoder.commit_and_wait_labeled("doomed"));
  EXPECT_TRUE(faulty.device.profile().dump().empty());
  EXPECT_TRUE(faulty.device.profile().dump_dispatches().empty());
  ASSERT_EQ(faulty.device.profile().command_buffers().size(), 1u);
  EXPECT_FALSE(faulty.device.profile().command_buffers()[0].error.empty());
}

// A stage fails in the middle of five; whatever the caller does next, the error comes out.
TEST(Faults, AFailedStagePoisonsTheSession) {
  for (uint64_t bad = 0; bad < 5; ++bad) {
    Faulty faulty;
    LogLines quiet;
    Buffer a = zeros(faulty.device, 64);
    EncoderSession session = *faulty.device.encoder_session();
    faulty.inject(metal::Fault::kRun, bad);
    Status status;
    for (int stage = 0; stage < 5 && status; ++stage) {
      status = faulty.inc(session.encoder(), a, a);
      if (status) status = session.fence_stage(str("stage", stage));
      if (status && stage < 4) status = session.reset_for_next_stage();
    }
    const Status first = session.commit_and_wait(), second = session.commit_and_wait();
    ASSERT_FALSE(first) << bad;
    ASSERT_FALSE(second) << bad;
    EXPECT_EQ(first.error().message(), second.error().message());
    EXPECT_THAT(first.error().message(), testing::HasSubstr(str("stage", bad)));
    EXPECT_FALSE(session.wait_for_fence(session.fence_value())) << bad;
    // Stages before the bad one ran, none behind it did.
    EXPECT_EQ(read(a)[0], static_cast<float>(bad));
    EncoderSession next = *faulty.device.encoder_session();
    EXPECT_OK(faulty.inc(next.encoder(), a, a));
    EXPECT_OK(next.commit_and_wait());
  }
}

TEST(Faults, AFailedStageReachesASessionOnAnotherQueue) {
  Faulty faulty;
  LogLines quiet;
  Buffer a = zeros(faulty.device, 64);
  EncoderSession first = *faulty.device.encoder_session();
  EncoderSession second = *faulty.device.with_new_queue()->encoder_session();
  EXPECT_OK(faulty.inc(first.encoder(), a, a));
  faulty.inject(metal::Fault::kRun, 0);
  EXPECT_OK(first.fence_stage());
  EXPECT_OK(second.wait_for(first.fence()));
  EXPECT_OK(faulty.inc(second.encoder(), a, a));
  EXPECT_ERROR(kExecutionFailed, second.commit_and_wait());
  EXPECT_ERROR(kExecutionFailed, first.commit_and_wait());
}

// Objects go away in every state, in every order.
TEST(Faults, EncodersMayBeDroppedInEveryState) {
  Faulty faulty;
  LogLines quiet;
  Buffer a = zeros(faulty.device, 64);
  const std::function<void(CommandEncoder&)> states[] = {
      [](CommandEncoder&) {},
      [&](CommandEncoder& e) { EXPECT_OK(faulty.inc(e, a, a)); },
      [&](CommandEncoder& e) { e.start_capture(); },
      [&](CommandEncoder& e) {
        e.start_capture();
        EXPECT_OK(faulty.inc(e, a, a));
      },
      [&](CommandEncoder& e) {
        EXPECT_OK(faulty.inc(e, a, a));
        e.start_capture();
      },
      [&](CommandEncoder& e) { EXPECT_OK(e.commit()); },
      [&](CommandEncoder& e) {
        EXPECT_OK(faulty.inc(e, a, a));
        EXPECT_OK(e.commit());
      },
      [&](CommandEncoder& e) {
        EXPECT_OK(faulty.inc(e, a, a));
        EXPECT_OK(e.commit_and_wait());
      },
      [&](CommandEncoder& e) { EXPECT_NE(e.metal_command_buffer(), nullptr); },
      [&](CommandEncoder& e) {
        faulty.inject(metal::Fault::kRun, 0);
        EXPECT_OK(faulty.inc(e, a, a));
        EXPECT_FALSE(e.commit_and_wait());
      },
      [&](CommandEncoder& e) {
        EXPECT_OK(faulty.inc(e, a, a));
        CommandEncoder other = std::move(e);
        EXPECT_ERROR(kInvalidState, e.commit());
        e = *faulty.device.command_encoder();
        EXPECT_OK(faulty.inc(e, a, a));
        e = std::move(other);
      },
  };
  for (const auto& reach : states) {
    CommandEncoder encoder = *faulty.device.command_encoder();
    reach(encoder);
  }
  CommandEncoder encoder = *faulty.device.command_encoder();
  EXPECT_OK(encoder.commit_and_wait());
}

TEST(Faults, SessionsMayBeDroppedInEveryState) {
  Faulty faulty;
  LogLines quiet;
  Buffer a = zeros(faulty.device, 64);
  const std::function<void(EncoderSession&)> states[] = {
      [](EncoderSession&) {},
      [&](EncoderSession& s) { EXPECT_OK(faulty.inc(s.encoder(), a, a)); },
      [&](EncoderSession& s) { EXPECT_OK(s.fence_stage()); },
      [&](EncoderSession& s) { EXPECT_OK(s.commit_stage()); },
      [&](EncoderSession& s) {
        EXPECT_OK(s.fence_stage());
        EXPECT_OK(s.reset_for_next_stage());
      },
      [&](EncoderSession& s) {
        EXPECT_OK(s.fence_stage());
        EXPECT_OK(s.reset_for_next_stage());
        EXPECT_OK(faulty.inc(s.encoder(), a, a));
      },
      [&](EncoderSession& s) { EXPECT_OK(s.commit_and_wait()); },
      [&](EncoderSession& s) {
        faulty.inject(metal::Fault::kRun, 0);
        EXPECT_OK(faulty.inc(s.encoder(), a, a));
        EXPECT_FALSE(s.commit_and_wait());
      },
      [&](EncoderSession& s) { EncoderSession other = std::move(s); },
  };
  for (const auto& reach : states) {
    EncoderSession session = *faulty.device.encoder_session();
    reach(session);
  }
  EncoderSession session = *faulty.device.encoder_session();
  EXPECT_OK(session.commit_and_wait());
}

TEST(Faults, WhatIsMadeFromADeviceOutlivesIt) {
  std::optional<Faulty> faulty(std::in_place);
  BufferPool pool(faulty->device);
  Buffer pooled = *pool.alloc(Dtype::kF32, {64});
  Buffer own = zeros(faulty->device, 64);
  CommandEncoder encoder = *faulty->device.command_encoder();
  GraphSession graph = *faulty->device.graph_session({.record = true});
  EXPECT_OK(faulty->inc(encoder, own, pooled));
  EXPECT_OK(faulty->inc(graph.encoder(), pooled, own));
  faulty.reset();
  EXPECT_OK(encoder.commit_and_wait());
  EXPECT_OK(graph.finish());
  EXPECT_EQ(read(own)[0], 2.0f);
  {
    BufferPool gone = std::move(pool);
  }
  EXPECT_EQ(read(pooled)[0], 1.0f);
}

TEST(Faults, BuffersMayBeDroppedWhileTheGpuRuns) {
  for (bool unretained : {false, true}) {
    RuntimeOptions options;
    options.unretained_references = unretained;
    Faulty faulty(options);
    Buffer result = zeros(faulty.device, 4096);
    CommandEncoder encoder = *faulty.device.command_encoder();
    {
      const Buffer scratch = floats(faulty.device, std::vector<float>(4096, 2.0f));
      EXPECT_OK(faulty.inc(encoder, scratch, result));
      EXPECT_OK(encoder.commit());
    }
    EXPECT_OK(encoder.wait_until_completed());
    EXPECT_EQ(read(result), std::vector<float>(4096, 3.0f));
  }
}

}  // namespace
}  // namespace mlxn::test
