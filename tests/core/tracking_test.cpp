// What the encoder takes a dispatch to touch, and where that is forgotten.
#include "mlxn/core/encode/session.h"
#include "mlxn/core/graph/graph_session.h"
#include "mlxn/core/profile/profile.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class Tracking : public testing::Test {
 protected:
  CommandEncoder encoder() const { return *device.command_encoder(); }
  uint64_t automatic() const { return device.counters().auto_barriers; }
  // inc_one without reflection.
  Pipeline unknown() const { return *Pipeline::wrap(kernel(device, "inc_one").metal(), "unknown"); }
  Status inc_unknown(ComputeEncoder& e, const Buffer& in, const Buffer& out) const {
    return e.encode(unknown(), {{0, &in}, {1, &out}}, width(4), width(4));
  }
  static BufferRange range(const Buffer& buffer, MemRangeRole role) {
    return BufferRange::from_buffer(buffer, role);
  }

  Device device = device_with(&RuntimeOptions::auto_barrier);
  Buffer a = floats(device, {1, 2, 3, 4}), b = zeros(device, 4), c = zeros(device, 4),
         d = floats(device, {5, 6, 7, 8}), f = zeros(device, 4);
};

TEST_F(Tracking, ABindingReachesFromItsOffsetToTheEndOfTheAllocation) {
  const Buffer wide = zeros(device, 8);
  const Buffer low = *wide.slice_view(0, 4);
  const Pipeline inc = kernel(device, "inc_one");
  auto e = encoder();
  EXPECT_OK(e.encode_with_args(inc, {{0, a}, {1, {wide, 16}}}, width(4), width(4)));
  EXPECT_OK(e.dispatch_tracked_threads_with_args(inc, {{0, d}, {1, low}}, {&d}, {&low}, width(4),
                                                 width(4)));
  EXPECT_EQ(automatic(), 0u) << "the half in front of it";
  EXPECT_OK(inc_one(e, a, low));
  EXPECT_EQ(automatic(), 1u) << "a view ends where the kernel ends";
  EXPECT_OK(e.commit_and_wait());
}

TEST_F(Tracking, ACaptureKeepsThatPart) {
  const Buffer wide = zeros(device, 8);
  auto e = encoder();
  e.start_capture();
  EXPECT_OK(
      e.encode_with_args(kernel(device, "inc_one"), {{0, a}, {1, {wide, 16}}}, width(4), width(4)));
  const auto nodes = *e.take_capture();
  EXPECT_EQ(nodes[0].binding(1)->offset, 16u);
  EXPECT_EQ(nodes[0].binding(1)->length, 16u);
}

TEST_F(Tracking, BarrierBetweenDeclaresForTheNextDispatch) {
  auto e = encoder();
  EXPECT_OK(inc_one(e, a, b));
  EXPECT_FALSE(*e.barrier_between({&d}, {&c}));
  EXPECT_OK(inc_unknown(e, d, c));
  EXPECT_EQ(automatic(), 0u) << "its accesses are known now";
  EXPECT_OK(inc_unknown(e, d, f));
  EXPECT_EQ(automatic(), 1u) << "those of the next one are not";
  e.start_capture();
  EXPECT_FALSE(*e.barrier_between({}, {}));
  EXPECT_OK(inc_unknown(e, a, b));
  EXPECT_TRUE(e.take_capture()->front().annotated);
}

// A barrier between the announcement and the dispatch must not make the tracker forget it.
TEST_F(Tracking, WhatWasAnnouncedOutlastsABarrier) {
  const Device plain = make_device();
  const Buffer x = zeros(plain, 4), y = zeros(plain, 4), z = zeros(plain, 4);
  for (const bool captured : {false, true}) {
    CommandEncoder e = *plain.command_encoder();
    if (captured) e.start_capture();
    EXPECT_FALSE(*e.barrier_between({&x}, {&y}));
    EXPECT_OK(e.memory_barrier());
    EXPECT_OK(inc_one(e, x, y));
    EXPECT_TRUE(*e.barrier_between({&y}, {&z})) << captured;
  }
}

TEST_F(Tracking, PendingRangesGetTheirRoles) {
  auto e = encoder();
  e.start_capture();
  e.set_pending_buffer_ranges({range(a, MemRangeRole::kDst)}, {range(b, MemRangeRole::kSrc)});
  EXPECT_OK(inc_one(e, a, b));
  const auto nodes = *e.take_capture();
  EXPECT_EQ(nodes[0].accesses,
            (std::vector{range(a, MemRangeRole::kSrc), range(b, MemRangeRole::kDst)}));
}

TEST_F(Tracking, ABarrierIsNotAnnotated) {
  auto e = encoder();
  e.start_capture();
  EXPECT_OK(inc_unknown(e, a, b));
  EXPECT_OK(e.memory_barrier());
  e.annotate_last_dispatch_if_missing({range(a, MemRangeRole::kSrc)}, {});
  const auto nodes = *e.take_capture();
  EXPECT_FALSE(nodes[0].annotated) << "there is a barrier behind it";
  EXPECT_TRUE(nodes[1].accesses.empty());
}

TEST_F(Tracking, AReplayedDispatchIsTracked) {
  auto e = encoder();
  e.start_capture();
  EXPECT_OK(inc_one(e, a, b));
  const auto nodes = *e.take_capture();
  EXPECT_OK(e.replay_dispatch(nodes[0]));
  EXPECT_OK(inc_one(e, b, c));
  EXPECT_EQ(automatic(), 1u);
  EXPECT_OK(e.replay_dispatch(nodes[0]));
  EXPECT_EQ(automatic(), 2u) << "writes what the last one read";
  EXPECT_OK(e.commit_and_wait());
}

TEST_F(Tracking, BarriersOfACaptureStartANewGroup) {
  auto e = encoder();
  e.start_capture();
  const auto announced = [&](const Buffer& in, const Buffer& out) {
    const bool barrier = *e.barrier_between({&in}, {&out});
    EXPECT_OK(inc_one(e, in, out));
    return barrier;
  };
  EXPECT_FALSE(announced(a, b));
  EXPECT_TRUE(announced(b, c));
  EXPECT_FALSE(announced(b, f)) << "ordered by the one before";
  EXPECT_OK(e.memory_barrier());
  EXPECT_FALSE(announced(f, d));
}

TEST_F(Tracking, TheNextStageStartsANewGroup) {
  EncoderSession session = *device.encoder_session();
  EXPECT_OK(inc_one(session.encoder(), a, b));
  EXPECT_OK(session.fence_stage());
  EXPECT_OK(session.reset_for_next_stage());
  EXPECT_EQ(session.encoder().mem_ranges_len(), 0u);
  EXPECT_EQ(session.encoder().mem_ranges().checks(), 0u);
  EXPECT_OK(inc_one(session.encoder(), b, c));
  EXPECT_OK(session.commit_and_wait());
  EXPECT_EQ(automatic(), 0u);
  EXPECT_EQ(read(c), (std::vector<float>{3, 4, 5, 6}));
}

// The reason is that of the barrier right in front; the command buffer has the sum.
TEST_F(Tracking, TheProfileHasTheBarriers) {
  RuntimeOptions options;
  options.auto_barrier = options.profile_dispatches = true;
  const Device profiled = make_device(options);
  const Buffer x = zeros(profiled, 4), y = zeros(profiled, 4), z = zeros(profiled, 4);
  CommandEncoder e = *profiled.command_encoder();
  EXPECT_OK(inc_one(e, x, y));
  EXPECT_OK(inc_one(e, y, z));
  EXPECT_OK(inc_one(e, y, x));
  EXPECT_OK(e.memory_barrier());
  EXPECT_OK(inc_one(e, y, z));
  EXPECT_OK(e.commit_and_wait_labeled("frame"));
  std::vector<std::string> reasons;
  const auto groups = profiled.profile().dump_dispatches();
  for (const DispatchEntry& entry : groups.at(0).second) reasons.push_back(entry.barrier_reason);
  EXPECT_EQ(reasons, (std::vector<std::string>{"", "RAW", "", "explicit"}));
  ASSERT_EQ(profiled.profile().command_buffers().size(), 1u);
  EXPECT_EQ(profiled.profile().command_buffers()[0].barriers, 2u);
  EXPECT_EQ(profiled.profile().command_buffers()[0].dispatches, 4u);
}

}  // namespace
}  // namespace mlxn::test
