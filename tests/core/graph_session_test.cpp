// Graph sessions as the original's catalogue has them; passes and replay are in graph_test.cpp.
#include "mlxn/core/graph/graph_session.h"

#include <random>

#include "mlxn/core/device/internal/context.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class GraphSessions : public testing::Test {
 protected:
  Buffer random_floats(const Device& on, size_t count, uint64_t seed) const {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> values(-10.0f, 10.0f);
    std::vector<float> out(count);
    for (float& value : out) value = values(random);
    return floats(on, out);
  }
  GraphSession session(const Device& on, bool record = false) const {
    return *on.graph_session({.record = record});
  }
  // a + b, then times the factor, each with a command buffer of its own.
  std::vector<float> two_encoders(const Buffer& a, const Buffer& b, float factor) const {
    const Buffer sum = zeros(device, a.element_count()), out = zeros(device, a.element_count());
    auto first = *device.command_encoder();
    EXPECT_OK(add(first, a, b, sum));
    EXPECT_OK(first.commit_and_wait());
    auto second = *device.command_encoder();
    EXPECT_OK(scale(second, sum, factor, out));
    EXPECT_OK(second.commit_and_wait());
    return read(out);
  }
  static Status scale(ComputeEncoder& encoder, const Buffer& in, const float& factor,
                      const Buffer& out) {
    return encoder.encode_with_args(kernel(encoder.device(), "scale"),
                                    {{0, in}, {1, out}, {2, as_bytes(factor)}},
                                    width(out.element_count()), width(32));
  }

  Device device = make_device();
};

TEST_F(GraphSessions, OneOpEqualsADirectEncoder) {
  const Device other = make_device();
  std::vector<std::vector<float>> results;
  for (const Device& one : {device, other}) {
    const Buffer a = random_floats(one, 1024, 1), b = random_floats(one, 1024, 2),
                 out = zeros(one, 1024);
    if (results.empty()) {
      auto encoder = *one.command_encoder();
      EXPECT_OK(add(encoder, a, b, out));
      EXPECT_OK(encoder.commit_and_wait());
    } else {
      auto graph = session(one);
      EXPECT_OK(add(graph.encoder(), a, b, out));
      EXPECT_OK(graph.finish());
    }
    results.push_back(read(out));
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(GraphSessions, SeveralOpsWithABarrierEqualSeparateCommandBuffers) {
  const Buffer a = random_floats(device, 512, 3), b = random_floats(device, 512, 4);
  const std::vector<float> expected = two_encoders(a, b, 0.5f);
  for (const bool record : {false, true}) {
    const Buffer sum = zeros(device, 512), out = zeros(device, 512);
    auto graph = session(device, record);
    EXPECT_EQ(graph.is_recording(), record);
    EXPECT_OK(add(graph.encoder(), a, b, sum));
    EXPECT_OK(graph.barrier());
    EXPECT_OK(scale(graph.encoder(), sum, 0.5f, out));
    EXPECT_OK(graph.finish());
    EXPECT_EQ(read(out), expected);
    EXPECT_EQ(graph.barrier_count(), 1u);
  }
}

// The original measures time; what makes the difference is one command buffer instead of 120.
TEST_F(GraphSessions, OneSubmissionInPlaceOfMany) {
  const Buffer a = random_floats(device, 64, 5), b = random_floats(device, 64, 6),
               out = zeros(device, 64);
  const Counters start = device.counters();
  for (int i = 0; i < 120; ++i) {
    auto encoder = *device.command_encoder();
    EXPECT_OK(add(encoder, a, b, out));
    EXPECT_OK(encoder.commit_and_wait());
  }
  const Counters apart = device.counters() - start;
  auto graph = session(device);
  for (int i = 0; i < 120; ++i) EXPECT_OK(add(graph.encoder(), a, b, out));
  EXPECT_OK(graph.finish());
  const Counters together = device.counters() - start - apart;
  EXPECT_EQ(apart.command_buffers, 120u);
  EXPECT_EQ(apart.syncs, 120u);
  EXPECT_EQ(together.command_buffers, 1u);
  EXPECT_EQ(together.syncs, 1u);
  EXPECT_EQ(together.dispatches, 120u);
}

TEST_F(GraphSessions, DroppingOneWithoutFinishIsSafe) {
  const Buffer a = random_floats(device, 256, 7), out = zeros(device, 256);
  for (const bool record : {false, true}) {
    auto graph = session(device, record);
    EXPECT_OK(inc_one(graph.encoder(), a, out));
  }
  auto encoder = *device.command_encoder();
  EXPECT_OK(encoder.commit_and_wait());
  EXPECT_EQ(read(out), std::vector<float>(256, 0.0f));
}

TEST_F(GraphSessions, TheEncoderIsReachable) {
  const Buffer a = random_floats(device, 128, 8), b = random_floats(device, 128, 9),
               out = zeros(device, 128);
  auto graph = session(device);
  EXPECT_EQ(&graph.encoder().device(), &graph.device());
  EXPECT_OK(graph.encoder().encode_threadgroups(
      kernel(device, "add"), {{0, &a}, {1, &b}, {2, &out}}, width(4), width(32)));
  EXPECT_OK(graph.finish());
  for (size_t i = 0; i < 128; ++i) EXPECT_EQ(read(out)[i], read(a)[i] + read(b)[i]);
}

// K ops and B barriers: all counted while recording, none again at replay.
TEST_F(GraphSessions, CountersOfARecordedSession) {
  const Buffer a = random_floats(device, 64, 1), out = zeros(device, 64);
  const Counters before = device.counters();
  auto graph = session(device, true);
  EXPECT_OK(graph.barrier());  // before any dispatch: nothing to order
  for (int i = 0; i < 5; ++i) {
    EXPECT_OK(graph.barrier_between({&a}, {&out}));
    EXPECT_OK(inc_one(graph.encoder(), a, out));
  }
  EXPECT_EQ((device.counters() - before).dispatches, 5u);
  EXPECT_OK(graph.finish());
  const Counters moved = device.counters() - before;
  EXPECT_EQ(moved.dispatches, 5u);
  EXPECT_EQ(moved.barriers, 4u) << "write after write";
  EXPECT_EQ(moved.command_buffers, 1u);
  EXPECT_EQ(moved.syncs, 1u);
}

TEST_F(GraphSessions, FinishTwiceIsAnError) {
  auto graph = session(device);
  EXPECT_OK(graph.finish());
  EXPECT_ERROR(kInvalidState, graph.finish());
}

}  // namespace
}  // namespace mlxn::test
