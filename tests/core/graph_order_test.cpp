// What reordering leaves alone, where a graph is cut, and what finishing it reports.
#include "mlxn/core/graph/graph_session.h"
#include "mlxn/core/profile/profile.h"
#include "mlxn/ops/op_kind.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class GraphOrder : public testing::Test {
 protected:
  template <class Encode>
  Graph record(Encode encode) const {
    GraphSession session = *device.graph_session({.record = true});
    encode(session.encoder());
    return *session.take_graph();
  }
  // n dispatches that need each other.
  void chain(ComputeEncoder& encoder, int n) const {
    for (int i = 0; i < n; ++i) EXPECT_OK(inc_one(encoder, i % 2 ? b : a, i % 2 ? a : b));
  }

  Device device = device_with(&RuntimeOptions::profile_command_buffers);
  Buffer a = zeros(device, 4), b = zeros(device, 4), c = zeros(device, 4), d = zeros(device, 4),
         f = zeros(device, 4);
};

TEST_F(GraphOrder, WhatConflictsWithTheGroupDoesNotJoinIt) {
  Graph graph = record([&](ComputeEncoder& encoder) {
    EXPECT_OK(inc_one(encoder, a, b));
    EXPECT_OK(inc_one(encoder, b, c));
    EXPECT_OK(inc_one(encoder, b, d));
  });
  EXPECT_EQ(graph.reorder().moved, 0u);
}

TEST_F(GraphOrder, WhatJoinedCountsAsPartOfTheGroup) {
  const Buffer g = zeros(device, 4);
  Graph graph = record([&](ComputeEncoder& encoder) {
    EXPECT_OK(inc_one(encoder, a, b));
    EXPECT_OK(inc_one(encoder, b, c));
    EXPECT_OK(inc_one(encoder, d, f));  // joins the first
    EXPECT_OK(inc_one(encoder, f, g));  // needs that one
  });
  EXPECT_EQ(graph.reorder().moved, 1u);
  EXPECT_EQ((*graph.prepare(device))->barrier_count(), 1u);
}

// Attention stops the look-ahead from the second; nothing makes the third wait.
TEST_F(GraphOrder, AGroupEndsWithItsBarrier) {
  Graph graph = record([&](ComputeEncoder& encoder) {
    EXPECT_OK(inc_one(encoder, a, b));
    EXPECT_OK(inc_one(encoder, b, c));
    encoder.set_op_kind(OpKind::kSdpa);
    EXPECT_OK(inc_one(encoder, b, d));
    EXPECT_OK(inc_one(encoder, a, f));
  });
  EXPECT_EQ(graph.reorder().moved, 0u);
}

TEST_F(GraphOrder, BarriersDoNotCountForTheCut) {
  const Graph graph = record([&](ComputeEncoder& encoder) {
    for (int i = 0; i < 70; ++i) {
      EXPECT_OK(inc_one(encoder, a, b));
      EXPECT_OK(encoder.memory_barrier());
    }
  });
  const auto [front, back] = graph.split();
  EXPECT_EQ(front.dispatch_count(), 64u);
  EXPECT_EQ(back.dispatch_count(), 6u);
}

TEST_F(GraphOrder, TwoCommandBuffersAreReportedTogether) {
  GraphSession session = *device.graph_session({.record = true});
  chain(session.encoder(), 70);
  const Pipeline unknown = *Pipeline::wrap(kernel(device, "inc_one").metal(), "unknown");
  EXPECT_OK(session.encoder().encode(unknown, {{0, &c}, {1, &d}}, width(4), width(4)));
  FinishOptions options;
  options.two_command_buffers = true;
  options.label = "frame";
  const auto stats = session.finish(options);
  ASSERT_TRUE(stats) << stats.error().to_string();
  EXPECT_EQ(stats->barriers[0], 63u);
  EXPECT_EQ(stats->barriers[1], 6u);
  EXPECT_EQ(stats->unannotated, 1u);
  EXPECT_EQ(stats->dispatches, 71u);
  const auto entries = device.profile().command_buffers();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].label, "frame.0");
  EXPECT_EQ(entries[1].label, "frame");
  uint64_t sum = 0;
  for (const CommandBufferEntry& entry : entries) sum += entry.end_ns - entry.start_ns;
  EXPECT_NEAR(static_cast<double>(stats->gpu_ns), static_cast<double>(sum), 4.0) << "rounding";
  EXPECT_EQ(session.wait_until_completed()->wait_ns, stats->wait_ns) << "measured once";
  EXPECT_EQ(device.counters().syncs, 1u);
  EXPECT_ERROR(kInvalidState, session.finish());
  EXPECT_EQ(device.counters().syncs, 1u) << "a refused call waits for nothing";
}

TEST_F(GraphOrder, ABarrierOfTheSessionEndsTheGroup) {
  GraphSession session = *device.graph_session();
  for (const Buffer* out : {&b, &c, &d}) {
    EXPECT_OK(session.barrier_between({&a}, {out}));
    EXPECT_OK(inc_one(session.encoder(), a, *out));
    if (out == &c) EXPECT_OK(session.barrier());
  }
  EXPECT_EQ(session.group_stats().sizes[0], 1u);
  EXPECT_EQ(session.group_stats().sizes[1], 1u);
  EXPECT_EQ(session.group_stats().sizes[2], 0u);
  EXPECT_OK(session.finish());
}

}  // namespace
}  // namespace mlxn::test
