// Seed 001: dispatches that declare what they read and write, and barriers that follow from it.
#include <functional>

#include "mlxn/core/encode/mem_ranges.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

using Buffers = ComputeEncoder::Buffers;

// One way to encode out = in + 1, plain and tracked.
struct Form {
  const char* name;
  std::function<Status(ComputeEncoder&, const Buffer& in, const Buffer& out)> plain, tracked;
};

const MTL::Size kGroups = width(2), kGroup = width(32), kThreads = width(64);

std::vector<Form> forms() {
  using Encoder = ComputeEncoder;
  const auto inc = [](Encoder& e) { return kernel(e.device(), "inc_one"); };
  const auto reverse = [](Encoder& e) { return kernel(e.device(), "reverse"); };
  static const std::vector<ThreadgroupMemory> memory = {{0, 32 * sizeof(float)}};
  return {
      {"threadgroups",
       [=](Encoder& e, const Buffer& in, const Buffer& out) {
         return e.encode_threadgroups(inc(e), {{0, &in}, {1, &out}}, kGroups, kGroup);
       },
       [=](Encoder& e, const Buffer& in, const Buffer& out) {
         return e.dispatch_tracked_threadgroups(inc(e), {{0, &in}, {1, &out}}, {&in}, {&out},
                                                kGroups, kGroup);
       }},
      {"threadgroups_with_shared",
       [=](Encoder& e, const Buffer& in, const Buffer& out) {
         return e.encode_threadgroups_with_shared(reverse(e), {{0, &in}, {1, &out}}, memory,
                                                  kGroups, kGroup);
       },
       [=](Encoder& e, const Buffer& in, const Buffer& out) {
         return e.dispatch_tracked_threadgroups_with_shared(reverse(e), {{0, &in}, {1, &out}},
                                                            memory, {&in}, {&out}, kGroups, kGroup);
       }},
      {"threadgroups_with_args",
       [=](Encoder& e, const Buffer& in, const Buffer& out) {
         return e.encode_threadgroups_with_args(inc(e), {{0, in}, {1, out}}, kGroups, kGroup);
       },
       [=](Encoder& e, const Buffer& in, const Buffer& out) {
         return e.dispatch_tracked_threadgroups_with_args(inc(e), {{0, in}, {1, out}}, {&in},
                                                          {&out}, kGroups, kGroup);
       }},
      {"threadgroups_with_args_and_shared",
       [=](Encoder& e, const Buffer& in, const Buffer& out) {
         return e.encode_threadgroups_with_args_and_shared(reverse(e), {{0, in}, {1, out}}, memory,
                                                           kGroups, kGroup);
       },
       [=](Encoder& e, const Buffer& in, const Buffer& out) {
         return e.dispatch_tracked_threadgroups_with_args_and_shared(
             reverse(e), {{0, in}, {1, out}}, memory, {&in}, {&out}, kGroups, kGroup);
       }},
      {"threads_with_args",
       [=](Encoder& e, const Buffer& in, const Buffer& out) {
         return e.encode_with_args(inc(e), {{0, in}, {1, out}}, kThreads, kGroup);
       },
       [=](Encoder& e, const Buffer& in, const Buffer& out) {
         return e.dispatch_tracked_threads_with_args(inc(e), {{0, in}, {1, out}}, {&in}, {&out},
                                                     kThreads, kGroup);
       }},
  };
}

std::vector<float> ramp(size_t count) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(i);
  return out;
}

// x -> y -> x -> y ... by all forms in turn; what comes out depends on every barrier.
std::vector<float> run_chain(const Device& device, bool tracked) {
  Buffer x = floats(device, ramp(64)), y = zeros(device, 64);
  auto encoder = *device.command_encoder();
  for (int round = 0; round < 8; ++round) {
    for (const Form& form : forms()) {
      EXPECT_OK((tracked ? form.tracked : form.plain)(encoder, x, y)) << form.name;
      if (!tracked) EXPECT_OK(encoder.memory_barrier());
      std::swap(x, y);
    }
  }
  EXPECT_OK(encoder.commit_and_wait());
  return read(x);
}

// The original's test never calls a tracked method; here all five forms run, with the gate on.
TEST(Seed001, TrackedDispatchesGiveTheBytesOfHandPlacedBarriers) {
  RuntimeOptions options;
  options.auto_barrier = true;
  for (uint64_t seed = 1; seed <= 5; ++seed) {  // shuffled, so that a missing barrier shows
    const MetalSpec shuffled = {.schedule_seed = seed};
    const auto expected = run_chain(make_device({}, shuffled), false);
    EXPECT_NE(expected, ramp(64));
    EXPECT_EQ(run_chain(make_device(options, shuffled), true), expected) << seed;
  }
}

// The same without dependencies, gate off: a tracked form is the plain form.
TEST(Seed001, TrackedFormsWithoutTheGateAreThePlainForms) {
  const Device device = make_device();
  for (const Form& form : forms()) {
    std::vector<std::vector<float>> results;
    for (const auto& encode : {form.plain, form.tracked}) {
      const Buffer in = floats(device, ramp(64)), out = zeros(device, 64);
      auto encoder = *device.command_encoder();
      EXPECT_OK(encode(encoder, in, out));
      EXPECT_OK(encoder.commit_and_wait());
      results.push_back(read(out));
    }
    EXPECT_EQ(results[0], results[1]) << form.name;
  }
  const Buffer a = floats(device, std::vector<float>(64, 1.0f)),
               b = floats(device, std::vector<float>(64, 2.0f)), out = zeros(device, 64);
  auto encoder = *device.command_encoder();
  EXPECT_OK(encoder.dispatch_tracked_threads_with_args(
      kernel(device, "add"), {{0, a}, {1, b}, {2, out}}, {&a, &b}, {&out}, kThreads, kGroup));
  EXPECT_OK(encoder.commit_and_wait());
  EXPECT_EQ(read(out), std::vector<float>(64, 3.0f));
}

TEST(Seed001, CountersAreInertWhenTheGateIsOff) {
  const Device device = make_device();
  const Buffer in = floats(device, ramp(64)), out = zeros(device, 64);
  const Counters before = device.counters();
  auto encoder = *device.command_encoder();
  for (const Form& form : forms()) {
    EXPECT_OK(form.plain(encoder, in, out));
    EXPECT_OK(form.tracked(encoder, in, out));
  }
  EXPECT_EQ(encoder.mem_ranges_len(), 0u);
  EXPECT_EQ(encoder.mem_ranges().checks(), 0u) << "the tracker is not touched";
  EXPECT_OK(encoder.commit_and_wait());
  const Counters moved = device.counters() - before;
  EXPECT_EQ(moved.auto_barriers, 0u);
  EXPECT_EQ(moved.auto_barrier_concurrent, 0u);
  EXPECT_EQ(moved.barriers, 0u);
  EXPECT_EQ(moved.dispatches, 10u);
}

TEST(Seed001, CaptureRecordsTheDeclaredRanges) {
  for (const bool gate : {false, true}) {
    RuntimeOptions options;
    options.auto_barrier = gate;
    const Device device = make_device(options);
    const Buffer in = floats(device, ramp(64)), out = zeros(device, 64);
    const Counters before = device.counters();
    auto encoder = *device.command_encoder();
    encoder.start_capture();
    const auto in_range = BufferRange::from_buffer(in, MemRangeRole::kSrc);
    const auto out_range = BufferRange::from_buffer(out, MemRangeRole::kDst);
    for (const Form& form : forms()) {
      EXPECT_OK(form.tracked(encoder, in, out));
      encoder.set_pending_buffer_ranges({in_range}, {out_range});
      EXPECT_OK(form.plain(encoder, in, out));
    }
    EXPECT_EQ(encoder.mem_ranges_len(), 0u) << "whatever the gate says";
    const auto nodes = encoder.take_capture();
    ASSERT_TRUE(nodes);
    ASSERT_EQ(nodes->size(), 10u);
    for (size_t i = 0; i < nodes->size(); i += 2) {
      const CapturedNode &tracked = (*nodes)[i], &plain = (*nodes)[i + 1];
      EXPECT_EQ(tracked.reads(), std::vector{in_range});
      EXPECT_EQ(tracked.writes(), std::vector{out_range});
      EXPECT_TRUE(tracked.annotated);
      EXPECT_EQ(tracked.accesses, plain.accesses);
      EXPECT_EQ(tracked.kind, plain.kind);
      EXPECT_EQ(tracked.pipeline, plain.pipeline);
    }
    const Counters moved = device.counters() - before;
    EXPECT_EQ(moved.auto_barriers + moved.auto_barrier_concurrent + moved.barriers, 0u);
    EXPECT_EQ(moved.dispatches, 10u);
    EXPECT_OK(encoder.commit_and_wait());
    EXPECT_EQ(read(out), std::vector<float>(64, 0.0f)) << "nothing ran";
  }
}

class Seed001Tracked : public testing::Test {
 protected:
  Status run(Buffers reads, Buffers writes) {
    return encoder.dispatch_tracked_threadgroups_with_args(
        kernel(device, "inc_one"), {{0, *x}, {1, *z}}, reads, writes, kGroups, kGroup);
  }

  Device device = device_with(&RuntimeOptions::auto_barrier);
  CommandEncoder encoder = *device.command_encoder();
  Buffer bx = floats(device, ramp(64)), by = zeros(device, 64), bz = zeros(device, 64);
  const Buffer *x = &bx, *y = &by, *z = &bz;
};

TEST_F(Seed001Tracked, CountersOfTheWorkedExample) {
  EXPECT_OK(run({}, {x}));
  EXPECT_OK(run({x}, {}));
  EXPECT_OK(run({}, {y}));
  EXPECT_OK(run({y}, {}));
  const Counters counters = device.counters();
  EXPECT_EQ(counters.auto_barriers, 2u);
  EXPECT_EQ(counters.auto_barrier_concurrent, 2u);
  EXPECT_EQ(counters.barriers, 2u) << "automatic ones are among them";
  EXPECT_EQ(encoder.mem_ranges_len(), 1u);
}

TEST_F(Seed001Tracked, EveryKindOfHazardGetsItsBarrier) {
  const auto barriers = [&] { return device.counters().auto_barriers; };
  EXPECT_OK(run({}, {x}));
  EXPECT_OK(run({x}, {}));  // read after write
  EXPECT_EQ(barriers(), 1u);
  EXPECT_OK(run({}, {x}));  // write after read
  EXPECT_EQ(barriers(), 2u);
  EXPECT_OK(run({}, {x}));  // write after write
  EXPECT_EQ(barriers(), 3u);
  EXPECT_OK(run({y}, {}));
  EXPECT_OK(run({y}, {z}));  // read after read
  EXPECT_EQ(barriers(), 3u);
  EXPECT_OK(run({z}, {z}));  // in place, behind a write
  EXPECT_EQ(barriers(), 4u);
}

TEST_F(Seed001Tracked, ViewsConflictOnlyWhereTheyOverlap) {
  const Buffer low = *bx.slice_view(0, 32), high = *bx.slice_view(128, 32),
               middle = *bx.slice_view(64, 32);
  EXPECT_OK(run({}, {&low}));
  EXPECT_OK(run({}, {&high}));
  EXPECT_EQ(device.counters().auto_barriers, 0u);
  EXPECT_OK(run({}, {&middle}));
  EXPECT_EQ(device.counters().auto_barriers, 1u);
}

// Edge 37: plain dispatches are tracked by what the kernel's reflection says, and an explicit
// barrier starts the tracker anew.
TEST_F(Seed001Tracked, PlainDispatchesAndExplicitBarriersAreKnownToTheTracker) {
  EXPECT_OK(inc_one(encoder, *x, *y));
  EXPECT_OK(inc_one(encoder, *y, *z));
  EXPECT_EQ(device.counters().auto_barriers, 1u);
  EXPECT_OK(encoder.memory_barrier());
  EXPECT_EQ(encoder.mem_ranges_len(), 0u);
  EXPECT_OK(inc_one(encoder, *z, *x));
  EXPECT_EQ(device.counters().auto_barriers, 1u);
  EXPECT_EQ(device.counters().barriers, 2u);
  EXPECT_OK(encoder.commit_and_wait());
  EXPECT_EQ(read(*x)[5], 8.0f);
}

TEST(Seed001, MemRangesAreReachable) {
  const Device device = make_null_device();
  const Buffer a = zeros(device, 16), b = zeros(device, 16);
  MemRanges ranges;
  EXPECT_TRUE(ranges.is_empty());
  EXPECT_TRUE(ranges.check_dispatch({&b}, {&a}));
  ranges.add_dispatch({&b}, {&a});
  EXPECT_EQ(ranges.len(), 2u);
  EXPECT_FALSE(ranges.check_dispatch({&a}, {}));
  EXPECT_EQ(ranges.barriers_forced(), 1u);
  ranges.reset();
  EXPECT_TRUE(ranges.is_empty());
  EXPECT_TRUE(ranges.check_dispatch({&a}, {}));
  const BufferRange range = BufferRange::from_buffer(a, MemRangeRole::kSrc);
  EXPECT_EQ(range.end - range.begin, 64u);
}

}  // namespace
}  // namespace mlxn::test
