// The command encoder beyond what seed 004 states: validation, lifetime, counters, threads.
#include "mlxn/core/encode/encoder.h"

#include <thread>

#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/encode/session.h"
#include "mlxn/core/memory/pool.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class Encoder : public testing::Test {
 protected:
  CommandEncoder encoder() const { return *device.command_encoder(); }

  Device device = make_device();
  Buffer a = floats(device, {1, 2, 3, 4}), b = floats(device, {5, 6, 7, 8}), out = zeros(device, 4);
  const std::vector<float> sum = {6, 8, 10, 12};
};

TEST_F(Encoder, AnEmptyOneCommits) {
  auto e = encoder();
  EXPECT_OK(e.commit_and_wait());
}

TEST_F(Encoder, CommitAndWaitLabeledSetsTheLabel) {
  auto e = encoder();
  EXPECT_OK(add(e, a, b, out));
  EXPECT_OK(e.commit_and_wait_labeled("labelled.wait"));
  EXPECT_STREQ(e.metal_command_buffer()->label()->utf8String(), "labelled.wait");
  EXPECT_EQ(read(out), sum);
}

TEST_F(Encoder, CommitLabeledSetsTheLabel) {
  auto e = encoder();
  EXPECT_OK(add(e, a, b, out));
  EXPECT_EQ(encoder().metal_pass(), nullptr);
  const auto pass = NS::RetainPtr(e.metal_pass());
  ASSERT_TRUE(pass);
  EXPECT_OK(e.commit_labeled("labelled.async"));
  EXPECT_EQ(e.metal_pass(), nullptr);
  EXPECT_STREQ(e.metal_command_buffer()->label()->utf8String(), "labelled.async");
  EXPECT_STREQ(pass->label()->utf8String(), "labelled.async");
  EXPECT_OK(e.wait_until_completed());
  EXPECT_EQ(read(out), sum);
}

TEST_F(Encoder, RetainsWhatItUsesByDefault) {
  auto e = encoder();
  EXPECT_FALSE(device.options().unretained_references);
  EXPECT_OK(add(e, a, b, out));
  EXPECT_TRUE(e.metal_command_buffer()->retainedReferences());
  EXPECT_OK(e.commit_and_wait());
  EXPECT_EQ(read(out), sum);
}

// Edge 44: in the original's unretained mode, scratch dropped before completion is used after it
// was freed. The runtime holds it here, and the pool does not hand it out again (edge 16).
TEST_F(Encoder, UnretainedModeHoldsScratchUntilCompletion) {
  for (const bool unretained : {false, true}) {
    RuntimeOptions options;
    options.unretained_references = unretained;
    const Device unsafe = make_device(options);
    BufferPool pool(unsafe, {.poison_recycled = true});
    const Buffer in = floats(unsafe, {1, 2, 3, 4}), result = zeros(unsafe, 4);
    auto session = *unsafe.encoder_session();
    StageFence gate = {NS::TransferPtr(unsafe.metal_device()->newSharedEvent()), 1};
    EXPECT_OK(session.wait_for(gate));
    const std::byte* address = nullptr;
    {
      const Buffer scratch = *pool.alloc(Dtype::kF32, {4});
      address = scratch.contents();
      EXPECT_OK(inc_one(session.encoder(), in, scratch));
      EXPECT_OK(session.encoder().memory_barrier());
      EXPECT_OK(inc_one(session.encoder(), scratch, result));
    }
    EXPECT_EQ(session.metal_command_buffer()->retainedReferences(), !unretained);
    EXPECT_OK(session.commit_stage());
    EXPECT_EQ(pool.stats().in_use_count, 1u);
    EXPECT_NE(pool.alloc(Dtype::kF32, {4})->contents(), address) << "the GPU has yet to use it";
    gate.event->setSignaledValue(1);
    EXPECT_OK(session.wait_for_all());
    EXPECT_EQ(read(result), (std::vector<float>{3, 4, 5, 6}));
    EXPECT_EQ(pool.stats().in_use_count, 0u);
    EXPECT_EQ(pool.stats().free_count, 2u);
  }
}

// Edge 16, in arena mode: the original's reset recycles what a command buffer still uses.
TEST_F(Encoder, AnArenaResetLeavesMemoryOfWorkInFlight) {
  BufferPool arena(device, {.hold_until_reset = true});
  auto session = *device.encoder_session();
  StageFence gate = {NS::TransferPtr(device.metal_device()->newSharedEvent()), 1};
  EXPECT_OK(session.wait_for(gate));
  EXPECT_OK(inc_one(session.encoder(), a, *arena.alloc(Dtype::kF32, {4})));
  EXPECT_OK(session.commit_stage());
  arena.reset();
  EXPECT_EQ(arena.stats().in_use_count, 1u);
  gate.event->setSignaledValue(1);
  EXPECT_OK(session.wait_for_all());
  EXPECT_EQ(arena.stats().in_use_count, 0u);
}

// Edge 35: the original reads what an earlier dispatch left in the slot.
TEST_F(Encoder, AnUnboundSlotIsAnError) {
  auto e = encoder();
  EXPECT_OK(add(e, a, b, out));
  auto status = e.encode(kernel(device, "add"), {{0, &a}, {2, &out}}, width(4), width(4));
  EXPECT_ERROR(kInvalidArgument, status);
  EXPECT_THAT(status.error().message(),
              testing::AllOf(testing::HasSubstr("'add'"), testing::HasSubstr("slot 1")));
  EXPECT_OK(e.commit_and_wait());
}

// Edge 36: nothing of this is checked in the original.
TEST_F(Encoder, WrongDispatchesAreErrorsWithTheValues) {
  auto e = encoder();
  const Pipeline inc = kernel(device, "inc_one"), scale = kernel(device, "scale"),
                 reverse = kernel(device, "reverse");
  const auto expect = [&](const Status& status, ErrorCode code, const std::string& part) {
    EXPECT_TRUE(is_error(status, code));
    if (!status) EXPECT_THAT(status.error().message(), testing::HasSubstr(part));
  };
  const auto encode = [&](MTL::Size grid, MTL::Size group) {
    return e.encode(inc, {{0, &a}, {1, &out}}, grid, group);
  };
  const auto most = std::to_string(inc.max_threads());
  expect(encode(width(0), width(4)), ErrorCode::kInvalidArgument, "grid (0, 1, 1)");
  expect(encode(width(4), width(0)), ErrorCode::kInvalidArgument, "threadgroup (0, 1, 1)");
  expect(encode(width(4), width(inc.max_threads() + 1)), ErrorCode::kInvalidArgument, most);
  expect(encode(width(4), MTL::Size(inc.max_threads(), 2, 1)), ErrorCode::kInvalidArgument, most);
  expect(encode(width(uint64_t{1} << 40), width(4)), ErrorCode::kInvalidArgument, "1099511627776");
  expect(e.encode_threadgroups(inc, {{0, &a}, {1, &out}}, width(uint64_t{1} << 32), width(4)),
         ErrorCode::kInvalidArgument, "4294967296");
  const std::vector<std::byte> large(4097);
  expect(e.encode_with_args(scale, {{0, a}, {1, out}, {2, std::span(large)}}, width(4), width(4)),
         ErrorCode::kInvalidArgument, "4097 inline bytes, expected 1 to 4096");
  expect(e.encode_with_args(inc, {{0, {a, 16}}, {1, out}}, width(4), width(4)),
         ErrorCode::kOutOfRange, "offset 16, expected less than 16");
  expect(e.encode(inc, {{0, &a}, {1, &out}, {31, &b}}, width(4), width(4)), ErrorCode::kOutOfRange,
         "slot 31");
  expect(e.encode(inc, {{0, &a}, {1, &out}, {0, &b}}, width(4), width(4)),
         ErrorCode::kInvalidArgument, "slot 0: bound twice");
  const Buffer empty;
  expect(e.encode(inc, {{0, &a}, {1, &empty}}, width(4), width(4)), ErrorCode::kInvalidArgument,
         "empty");
  EXPECT_ERROR(kInvalidArgument, e.encode(inc, {{0, &a}, {1, nullptr}}, width(4), width(4)));
  EXPECT_ERROR(kInvalidArgument, e.encode(Pipeline(), {}, width(4), width(4)));
  expect(e.encode_threadgroups(reverse, {{0, &a}, {1, &out}}, width(1), width(4)),
         ErrorCode::kInvalidArgument, "threadgroup memory at index 0");
  expect(e.encode_threadgroups_with_shared(reverse, {{0, &a}, {1, &out}}, {{0, 1u << 30}}, width(1),
                                           width(4)),
         ErrorCode::kInvalidArgument, "threadgroup memory");
  EXPECT_EQ(device.counters().dispatches, 0u) << "a failed call has encoded nothing";
  EXPECT_OK(add(e, a, b, out));
  EXPECT_OK(e.commit_and_wait());
  EXPECT_EQ(read(out), sum) << "and the encoder still works";
}

// Edge 25.
TEST_F(Encoder, BuffersOfAnotherDeviceAreRefused) {
  const Device other = make_device();  // the same GPU, another context
  const Buffer foreign = zeros(other, 4);
  auto e = encoder();
  auto status = inc_one(e, foreign, out);
  EXPECT_ERROR(kInvalidArgument, status);
  EXPECT_THAT(status.error().message(), testing::HasSubstr("another device"));
  const Device same = *device.with_new_queue();
  auto second = *same.command_encoder();
  EXPECT_OK(add(second, a, b, out));
  EXPECT_OK(second.commit_and_wait());
}

// Edge 45: encoders that record, or do nothing, take no place in the queue.
TEST_F(Encoder, ManyIdleEncodersDoNotBlockTheQueue) {
  std::vector<CommandEncoder> idle;
  for (int i = 0; i < 300; ++i) {
    idle.push_back(encoder());
    idle.back().start_capture();
    EXPECT_OK(add(idle.back(), a, b, out));
  }
  auto e = encoder();
  EXPECT_OK(add(e, a, b, out));
  EXPECT_OK(e.commit_and_wait());
  EXPECT_EQ(read(out), sum);
}

// Edge 3: counters per device, and over the process.
TEST_F(Encoder, CountersArePerDevice) {
  const Device other = make_device();
  auto e = *other.command_encoder();
  EXPECT_OK(e.commit_and_wait());
  EXPECT_EQ(device.counters().command_buffers, 0u);
  EXPECT_EQ(other.counters().command_buffers, 1u);
  reset_process_counters();
  auto second = encoder();
  EXPECT_EQ(process_counters().command_buffers, 1u);
  EXPECT_EQ(other.counters().command_buffers, 1u) << "a device keeps its own count";
}

// What was captured and replayed gives what the direct encoding gives.
TEST_F(Encoder, CaptureAndReplayAreEqualToEncoding) {
  const auto run = [&](bool captured) {
    Buffer x = floats(device, {1, 2, 3, 4}), y = zeros(device, 4);
    auto e = encoder();
    if (captured) e.start_capture();
    for (int i = 0; i < 7; ++i) {
      EXPECT_OK(add(e, x, b, y));
      EXPECT_OK(e.memory_barrier());
      std::swap(x, y);
    }
    if (captured) {
      const auto nodes = *e.take_capture();
      for (const CapturedNode& node : nodes) EXPECT_OK(e.replay_dispatch(node));
    }
    EXPECT_OK(e.commit_and_wait());
    return read(x);
  };
  EXPECT_EQ(run(true), run(false));
}

// Errors nobody waits for come out when the device is synchronised (edge 40).
TEST_F(Encoder, SynchronizeReturnsAnErrorNobodyHasSeen) {
  LogLines quiet;
  EXPECT_OK(device.synchronize());
  {
    auto e = encoder();
    EXPECT_OK(add(e, a, b, out));
    metal::inject_fault(device.metal_device(), metal::Fault::kRun);
    EXPECT_OK(e.commit());
  }
  EXPECT_ERROR(kExecutionFailed, device.synchronize());
  EXPECT_OK(device.synchronize()) << "once";
  auto seen = encoder();
  EXPECT_OK(add(seen, a, b, out));
  metal::inject_fault(device.metal_device(), metal::Fault::kRun);
  EXPECT_ERROR(kExecutionFailed, seen.commit_and_wait());
  EXPECT_OK(device.synchronize()) << "that one was seen";
}

TEST_F(Encoder, AFailedRunIsInTheProfileWithItsError) {
  LogLines quiet;
  const Device profiled = device_with(&RuntimeOptions::profile_command_buffers);
  const Buffer x = zeros(profiled, 4), y = zeros(profiled, 4);
  auto e = *profiled.command_encoder();
  EXPECT_OK(inc_one(e, x, y));
  metal::inject_fault(profiled.metal_device(), metal::Fault::kRun);
  EXPECT_ERROR(kExecutionFailed, e.commit_and_wait_labeled("bad"));
  EXPECT_TRUE(profiled.profile().dump().empty()) << "times of a failed run mean nothing";
  ASSERT_EQ(profiled.profile().command_buffers().size(), 1u);
  EXPECT_NE(profiled.profile().command_buffers()[0].error, "");
}

TEST_F(Encoder, MayEndInEveryState) {
  for (int state = 0; state < 5; ++state) {
    auto e = encoder();
    if (state == 1) e.start_capture();
    if (state >= 1) EXPECT_OK(add(e, a, b, out));
    if (state == 3) EXPECT_OK(e.memory_barrier());
    if (state == 4) EXPECT_OK(e.commit());
  }
  EXPECT_OK(device.synchronize());
}

TEST_F(Encoder, APipelineOfAnotherMetalDeviceIsAnError) {
  const auto metal = make_metal_device();
  const Device device = make_device(), other = *Device::wrap(metal.get(), {});
  const Buffer a = zeros(device, 4), b = zeros(device, 4);
  CommandEncoder encoder = *device.command_encoder();
  EXPECT_ERROR(kInvalidArgument,
               encoder.encode(kernel(other, "inc_one"), {{0, &a}, {1, &b}}, width(4), width(4)));
}

TEST_F(Encoder, ThreadgroupMemoryCountsInWholeSixteenBytes) {
  const Device device = make_device();
  const uint64_t most = device.limits().max_threadgroup_memory;
  const Buffer a = floats(device, {1, 2, 3, 4}), b = zeros(device, 4);
  const Pipeline reverse = kernel(device, "reverse");
  CommandEncoder encoder = *device.command_encoder();
  const auto with = [&](std::vector<ThreadgroupMemory> memory) {
    return encoder.encode_threadgroups_with_shared(reverse, {{0, &a}, {1, &b}}, memory, width(1),
                                                   width(4));
  };
  EXPECT_ERROR(kInvalidArgument, with({{0, most - 1}, {1, 1}}));
  EXPECT_ERROR(kInvalidArgument, with({{0, most + 1}}));
  EXPECT_OK(with({{0, most - 17}, {1, 1}}));
  EXPECT_OK(with({{0, 13}}));
  EXPECT_OK(encoder.commit_and_wait());
  EXPECT_EQ(read(b), (std::vector<float>{4, 3, 2, 1}));
}

}  // namespace
}  // namespace mlxn::test
