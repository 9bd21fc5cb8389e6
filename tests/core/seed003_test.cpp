// Seed 003: a session needs half the command buffers of the plain path, because boundaries inside a
// layer are barriers and only layers end with a fence.
#include "mlxn/core/encode/session.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class Seed003 : public testing::Test {
 protected:
  static constexpr int kLayers = 5;

  // Five layers of attention and feed-forward, each with a command buffer of its own.
  uint64_t run_plain() {
    const uint64_t before = device.counters().command_buffers;
    for (int layer = 0; layer < kLayers; ++layer) {
      for (const char* part : {"attn", "ffn"}) {
        auto encoder = *device.command_encoder();
        EXPECT_OK(add(encoder, a, b, out));
        EXPECT_OK(encoder.commit_labeled("plain." + std::string(part) + std::to_string(layer)));
      }
    }
    auto drain = *device.command_encoder();
    EXPECT_OK(add(drain, a, b, out));
    EXPECT_OK(drain.commit_and_wait());
    return device.counters().command_buffers - before - 1;
  }

  Device device = device_with(&RuntimeOptions::encoder_session);
  Buffer a = floats(device, {1, 2, 3, 4}), b = floats(device, {10, 20, 30, 40}),
         out = zeros(device, 4);
};

TEST_F(Seed003, FiveStagesTakeFiveCommandBuffersInsteadOfTen) {
  ASSERT_TRUE(EncoderSession::enabled(device));
  const Counters start = device.counters();
  const uint64_t plain = run_plain();
  const Counters after_plain = device.counters() - start;
  EXPECT_EQ(after_plain.command_buffers, 11u) << "with the drain";
  EXPECT_EQ(after_plain.dispatches, 11u);
  EXPECT_EQ(after_plain.syncs, 1u);

  const Counters before = device.counters();
  auto session = *device.encoder_session();
  for (int layer = 0; layer < kLayers; ++layer) {
    EXPECT_OK(add(session.encoder(), a, b, out));
    EXPECT_OK(session.encoder().memory_barrier());
    EXPECT_OK(add(session.encoder(), a, b, out));
    EXPECT_OK(session.fence_stage("session.attn.layer" + std::to_string(layer)));
    if (layer < kLayers - 1) EXPECT_OK(session.reset_for_next_stage());
  }
  const uint64_t fence_value = session.fence_value(), wait_count = session.wait_count();
  session.metal_command_buffer()->waitUntilCompleted();
  const Counters moved = device.counters() - before;
  std::printf("fence_value=%lu\ncb_count_plain=%lu\ncb_count_session=%lu\nwait_count=%lu\n",
              fence_value, plain, moved.command_buffers, wait_count);

  EXPECT_EQ(fence_value, 5u);
  EXPECT_EQ(plain, 10u);
  EXPECT_EQ(moved.command_buffers, 5u);
  EXPECT_LE(moved.command_buffers * 2, plain);
  EXPECT_EQ(wait_count, 4u);
  EXPECT_EQ(session.fence_value(), 5u) << "a host wait changes nothing";
  EXPECT_EQ(session.wait_count(), 4u);
  EXPECT_EQ(session.wait_value(), 4u);
  EXPECT_EQ(moved.dispatches, 10u);
  EXPECT_EQ(moved.barriers, 5u);
  EXPECT_EQ(moved.syncs, 0u);
  EXPECT_EQ(read(out), (std::vector<float>{11, 22, 33, 44}));
}

// The process-wide view behaves as the original's globals do.
TEST_F(Seed003, ProcessCountersShowTheSame) {
  reset_process_counters();
  const uint64_t before = process_counters().command_buffers;
  run_plain();
  EXPECT_EQ(process_counters().command_buffers - before - 1, 10u);
  reset_process_counters();
  EXPECT_EQ(process_counters().command_buffers, 0u);
  {
    auto session = *device.encoder_session();
    for (int layer = 0; layer < kLayers; ++layer) {
      EXPECT_OK(add(session.encoder(), a, b, out));
      EXPECT_OK(session.fence_stage());
      if (layer < kLayers - 1) EXPECT_OK(session.reset_for_next_stage());
    }
    EXPECT_OK(session.wait_for_all());
  }
  EXPECT_EQ(process_counters().command_buffers, 5u);
}

// What the seed exists to catch: a fence where a barrier suffices.
TEST_F(Seed003, AFenceInPlaceOfABarrierCostsACommandBuffer) {
  const uint64_t before = device.counters().command_buffers;
  auto session = *device.encoder_session();
  for (int layer = 0; layer < kLayers; ++layer) {
    for (int part = 0; part < 2; ++part) {
      EXPECT_OK(add(session.encoder(), a, b, out));
      EXPECT_OK(session.fence_stage());
      if (layer < kLayers - 1 || part == 0) EXPECT_OK(session.reset_for_next_stage());
    }
  }
  EXPECT_OK(session.wait_for_all());
  EXPECT_EQ(device.counters().command_buffers - before, 10u);
}

}  // namespace
}  // namespace mlxn::test
