// Barriers: what counts, and what they do.
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class Barriers : public testing::Test {
 protected:
  CommandEncoder encoder() const { return *device.command_encoder(); }

  Device device = make_device();
  Buffer in = floats(device, {1, 2, 3, 4}), out = zeros(device, 4);
};

TEST_F(Barriers, NoneWithoutAnOpenPass) {
  auto e = encoder();
  EXPECT_OK(e.memory_barrier());
  EXPECT_EQ(device.counters().barriers, 0u);
}

TEST_F(Barriers, CapturedOnesDoNotCount) {
  auto e = encoder();
  e.start_capture();
  for (int i = 0; i < 3; ++i) EXPECT_OK(e.memory_barrier());
  EXPECT_EQ(device.counters().barriers, 0u);
  const auto nodes = e.take_capture();
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->size(), 3u);
  for (const auto& node : *nodes) EXPECT_TRUE(node.is_barrier);
}

TEST_F(Barriers, EachOneBehindADispatchCounts) {
  auto e = encoder();
  EXPECT_OK(inc_one(e, in, out));
  for (int i = 0; i < 3; ++i) EXPECT_OK(e.memory_barrier());
  EXPECT_EQ(device.counters().barriers, 3u);
  EXPECT_OK(e.commit_and_wait());
}

TEST_F(Barriers, TimeIsNotMeasuredUnlessAsked) {
  reset_process_counters();
  auto e = encoder();
  EXPECT_OK(inc_one(e, in, out));
  for (int i = 0; i < 100; ++i) EXPECT_OK(e.memory_barrier());
  EXPECT_EQ(device.counters().barrier_ns, 0u);
  EXPECT_EQ(process_counters().barrier_ns, 0u);
}

TEST_F(Barriers, TimeIsMeasuredWhenAsked) {
  const Device timed = device_with(&RuntimeOptions::profile_barriers);
  const Buffer x = zeros(timed, 4), y = zeros(timed, 4);
  auto e = *timed.command_encoder();
  EXPECT_OK(inc_one(e, x, y));
  for (int i = 0; i < 1000; ++i) EXPECT_OK(e.memory_barrier());
  EXPECT_GT(timed.counters().barrier_ns, 0u);
  EXPECT_EQ(timed.counters().barriers, 1000u);
}

// A chain in which every link needs the one before, without barriers.
std::vector<float> chain(const Device& device) {
  Buffer x = zeros(device, 256), y = zeros(device, 256);
  auto encoder = *device.command_encoder();
  for (int i = 0; i < 50; ++i) {
    EXPECT_OK(inc_one(encoder, x, y));
    std::swap(x, y);
  }
  EXPECT_OK(encoder.commit_and_wait());
  return read(x);
}

// Edges 1 and 43: gates belong to the device, so one process can have all of them.
TEST_F(Barriers, SerialAndAutomaticModesOrderWhatPlainModeDoesNot) {
  const std::vector<float> expected(256, 50.0f);
  int plain_differs = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const MetalSpec shuffled = {.schedule_seed = seed};
    RuntimeOptions serial, automatic;
    serial.serial_dispatch = true;
    automatic.auto_barrier = true;
    const Device serial_device = make_device(serial, shuffled);
    EXPECT_EQ(chain(serial_device), expected) << seed;
    EXPECT_EQ(serial_device.counters().barriers, 0u);
    const Device automatic_device = make_device(automatic, shuffled);
    EXPECT_EQ(chain(automatic_device), expected) << seed;
    EXPECT_EQ(automatic_device.counters().auto_barriers, 49u);
    EXPECT_EQ(automatic_device.counters().auto_barrier_concurrent, 1u);
    plain_differs += chain(make_device({}, shuffled)) != expected;
  }
  EXPECT_GT(plain_differs, 0) << "the schedule shows a missing barrier";
}

// Edge 39: the original counts automatic barriers that were never emitted.
TEST_F(Barriers, AutomaticOnesAreAmongTheEmittedOnes) {
  const Device automatic = device_with(&RuntimeOptions::auto_barrier);
  const Buffer x = zeros(automatic, 4), y = zeros(automatic, 4);
  auto e = *automatic.command_encoder();
  EXPECT_OK(inc_one(e, x, y));
  EXPECT_OK(e.memory_barrier());
  EXPECT_OK(inc_one(e, y, x));
  EXPECT_OK(inc_one(e, x, y));
  EXPECT_EQ(automatic.counters().barriers, 2u);
  EXPECT_EQ(automatic.counters().auto_barriers, 1u);
  EXPECT_EQ(automatic.counters().auto_barrier_concurrent, 2u);
}

TEST_F(Barriers, BarrierBetweenEmitsWhereTheAccessesConflict) {
  auto e = encoder();
  const Buffer third = zeros(device, 4);
  EXPECT_FALSE(*e.barrier_between({&in}, {&out}));
  EXPECT_OK(inc_one(e, in, out));
  EXPECT_FALSE(*e.barrier_between({&in}, {&third}));
  EXPECT_OK(inc_one(e, in, third));
  EXPECT_TRUE(*e.barrier_between({&out}, {&in}));
  EXPECT_OK(inc_one(e, out, in));
  EXPECT_EQ(device.counters().barriers, 1u);
  EXPECT_OK(e.commit_and_wait());
  EXPECT_EQ(read(in), (std::vector<float>{3, 4, 5, 6}));
}

// A kernel without reflection may touch anything: nothing runs beside it.
TEST_F(Barriers, UnknownAccessesConflictWithEverything) {
  const Device automatic = device_with(&RuntimeOptions::auto_barrier);
  const Buffer x = zeros(automatic, 4), y = zeros(automatic, 4), z = zeros(automatic, 4);
  const Pipeline unknown = *Pipeline::wrap(kernel(automatic, "inc_one").metal(), "unknown");
  auto e = *automatic.command_encoder();
  EXPECT_OK(inc_one(e, x, y));
  EXPECT_OK(e.encode(unknown, {{0, &x}, {1, &z}}, width(4), width(4)));
  EXPECT_EQ(automatic.counters().auto_barriers, 1u);
  EXPECT_OK(inc_one(e, x, y));
  EXPECT_EQ(automatic.counters().auto_barriers, 2u);
}

}  // namespace
}  // namespace mlxn::test
