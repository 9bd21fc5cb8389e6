#include "mlxn/core/encode/session.h"

#include <thread>

#include "mlxn/core/device/internal/context.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

// Only dispatches go through a session's encoder: its commit cannot bypass the state (edge 50).
template <class T>
constexpr bool can_commit = requires(T& encoder) { encoder.commit(); };
static_assert(can_commit<CommandEncoder>);
static_assert(!can_commit<ComputeEncoder>);

class Session : public testing::Test {
 protected:
  EncoderSession session() const { return *device.encoder_session(); }
  CommandEncoder encoder() const { return *device.command_encoder(); }
  std::string label_of(EncoderSession& session) const {
    const NS::String* label = session.metal_command_buffer()->label();
    return label ? label->utf8String() : "";
  }
  // An event that holds back whoever waits for its value 1.
  StageFence gate() const { return {NS::TransferPtr(device.metal_device()->newSharedEvent()), 1}; }
  void expect_state(const EncoderSession& session, bool drained, bool pending) const {
    EXPECT_EQ(session.is_drained(), drained);
    EXPECT_EQ(session.is_fence_pending(), pending);
  }

  Device device = device_with(&RuntimeOptions::encoder_session);
  Buffer a = floats(device, {10, 20, 30, 40}), b = floats(device, {1, 2, 3, 4}),
         out = zeros(device, 4);
  const std::vector<float> sum = {11, 22, 33, 44};
};

TEST_F(Session, WaitsFollowFences) {
  auto s = session();
  EXPECT_EQ(s.fence_value() + s.wait_count() + s.wait_value(), 0u);
  EXPECT_FALSE(s.has_event());
  for (uint64_t i = 0; i < 5; ++i) {
    EXPECT_OK(add(s.encoder(), a, b, out));
    EXPECT_OK(s.fence_stage());
    EXPECT_EQ(s.fence_value(), i + 1);
    expect_state(s, true, true);
    EXPECT_TRUE(s.has_event());
    if (i == 4) break;
    EXPECT_OK(s.reset_for_next_stage());
    EXPECT_EQ(s.wait_count(), i + 1);
    EXPECT_EQ(s.wait_value(), i + 1);
    expect_state(s, false, false);
  }
  for (int after_wait = 0; after_wait < 2; ++after_wait) {
    EXPECT_EQ(s.fence_value(), 5u);
    EXPECT_EQ(s.wait_count(), 4u);
    EXPECT_EQ(s.wait_value(), 4u);
    s.metal_command_buffer()->waitUntilCompleted();
  }
  EXPECT_EQ(read(out), sum);
}

// Edge 51: a session is always there; the gate is what callers go by.
TEST_F(Session, TheGateIsAPolicyAndTheFactoryAlwaysWorks) {
  const Device off = make_device();
  EXPECT_TRUE(EncoderSession::enabled(device));
  EXPECT_FALSE(EncoderSession::enabled(off));
  for (const Device& one : {device, off}) {
    auto session = one.encoder_session();
    ASSERT_TRUE(session);
    EXPECT_FALSE(session->is_drained());
    EXPECT_EQ(one.counters().command_buffers, 1u);
  }
}

TEST_F(Session, TheGateIsStable) {
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(EncoderSession::enabled(device));
}

TEST_F(Session, CommitStageDrains) {
  auto s = session();
  s.begin_stage("ignored");
  s.begin_stage("stage.one");
  EXPECT_FALSE(s.is_drained());
  EXPECT_OK(add(s.encoder(), a, b, out));
  EXPECT_OK(s.commit_stage());
  expect_state(s, true, false);
  s.metal_command_buffer()->waitUntilCompleted();
  EXPECT_EQ(read(out), sum);
  EXPECT_EQ(label_of(s), "stage.one");
  EXPECT_OK(s.commit_stage());
  EXPECT_EQ(device.counters().command_buffers, 1u);
  EXPECT_EQ(device.counters().syncs, 0u);
}

TEST_F(Session, DroppingUncommittedWorkIsSafe) {
  {
    auto s = session();
    EXPECT_OK(add(s.encoder(), a, b, out));
  }
  const Buffer x = floats(device, {7, 8}), y = floats(device, {1, 2}), z = zeros(device, 2);
  auto e = encoder();
  EXPECT_OK(add(e, x, y, z));
  EXPECT_OK(e.commit_and_wait());
  EXPECT_EQ(read(z), (std::vector<float>{8, 10}));
  EXPECT_EQ(read(out), std::vector<float>(4, 0.0f));
}

TEST_F(Session, CommitAndWaitBlocksUntilDone) {
  const Buffer x = floats(device, {1.5, 2.5, 3.5, 4.5});
  auto s = session();
  s.begin_stage("blocking");
  EXPECT_OK(add(s.encoder(), x, a, out));
  EXPECT_OK(s.commit_and_wait());
  EXPECT_EQ(read(out), (std::vector<float>{11.5, 22.5, 33.5, 44.5}));
  EXPECT_EQ(device.counters().syncs, 1u);
  EXPECT_EQ(label_of(s), "blocking");
  EXPECT_OK(s.commit_and_wait());
  EXPECT_EQ(device.counters().syncs, 1u);
}

// The original checks this by reading its own source (edge 5).
TEST_F(Session, CommitAndWaitReturnsTheFailure) {
  LogLines quiet;
  auto s = session();
  EXPECT_OK(add(s.encoder(), a, b, out));
  metal::inject_fault(device.metal_device(), metal::Fault::kRun);
  EXPECT_ERROR(kExecutionFailed, s.commit_and_wait());
  EXPECT_ERROR(kExecutionFailed, s.commit_and_wait()) << "edge 47: it stays";
}

TEST_F(Session, FenceThenResetThenNextStage) {
  auto s = session();
  const Buffer x = floats(device, {100, 200, 300, 400}), y = floats(device, {7, 8, 9, 10}),
               second = zeros(device, 4);
  EXPECT_FALSE(s.has_event());
  s.begin_stage("begin label");
  EXPECT_OK(add(s.encoder(), a, b, out));
  EXPECT_OK(s.fence_stage("fence label"));
  expect_state(s, true, true);
  EXPECT_TRUE(s.has_event());
  EXPECT_EQ(s.fence_value(), 1u);
  EXPECT_EQ(label_of(s), "fence label");
  EXPECT_OK(s.reset_for_next_stage());
  expect_state(s, false, false);
  EXPECT_EQ(s.fence_value(), 1u);
  EXPECT_EQ(label_of(s), "");
  s.begin_stage("stage 2");
  EXPECT_OK(add(s.encoder(), x, y, second));
  EXPECT_OK(s.commit_and_wait());
  EXPECT_EQ(read(out), sum);
  EXPECT_EQ(read(second), (std::vector<float>{107, 208, 309, 410}));
  EXPECT_EQ(label_of(s), "stage 2");
  expect_state(s, true, false);
}

TEST_F(Session, FenceValuesSurviveResets) {
  const Buffer y = floats(device, {10, 20});
  std::vector<Buffer> outs;
  auto s = session();
  for (uint64_t stage = 0; stage < 3; ++stage) {
    const float base = 100.0f * static_cast<float>(stage);
    const Buffer x = floats(device, {base + 1, base + 2});
    outs.push_back(zeros(device, 2));
    EXPECT_OK(add(s.encoder(), x, y, outs.back()));
    EXPECT_OK(s.fence_stage());
    EXPECT_EQ(s.fence_value(), stage + 1);
    EXPECT_OK(s.reset_for_next_stage());
    EXPECT_EQ(s.fence_value(), stage + 1);
  }
  EXPECT_OK(s.commit_and_wait());
  for (size_t stage = 0; stage < 3; ++stage) {
    const float base = 100.0f * static_cast<float>(stage);
    EXPECT_EQ(read(outs[stage]), (std::vector<float>{base + 11, base + 22}));
  }
  EXPECT_EQ(s.fence_value(), 3u);
  EXPECT_EQ(s.wait_count(), 3u);
  EXPECT_EQ(device.counters().command_buffers, 4u);
}

TEST_F(Session, ResidencyIsDelegatedToTheDevicesSet) {
  const auto members = [&] { return device.counters().residency_allocations; };
  const uint64_t others = members();
  Buffer buffer = *device.alloc(Dtype::kU8, {1024});
  {
    auto s = session();
    EXPECT_EQ(members(), others + 1);
    EXPECT_TRUE(s.remove_from_residency_set(buffer));
    EXPECT_EQ(members(), others);
    EXPECT_TRUE(s.add_to_residency_set(buffer));
    EXPECT_EQ(members(), others + 1);
    EXPECT_FALSE(s.add_to_residency_set(Buffer()));
  }
  buffer = Buffer();
  EXPECT_EQ(members(), others);
  RuntimeOptions options;
  options.residency = false;
  const Device plain = make_device(options);
  auto s = *plain.encoder_session();
  EXPECT_FALSE(s.add_to_residency_set(zeros(plain, 4)));
  EXPECT_FALSE(s.remove_from_residency_set(zeros(plain, 4)));
}

TEST_F(Session, DroppingAFencedSessionLetsItsWorkFinish) {
  const Buffer x = floats(device, {5, 6, 7, 8});
  {
    auto s = session();
    EXPECT_OK(add(s.encoder(), x, b, out));
    EXPECT_OK(s.fence_stage());
    s.metal_command_buffer()->waitUntilCompleted();
  }
  EXPECT_EQ(read(out), (std::vector<float>{6, 8, 10, 12}));
  const Buffer one = floats(device, {1, 1, 1, 1}), two = floats(device, {2, 2, 2, 2});
  auto e = encoder();
  EXPECT_OK(add(e, one, two, out));
  EXPECT_OK(e.commit_and_wait());
  EXPECT_EQ(read(out), std::vector<float>(4, 3.0f));
}

// In the original the member goes when the handle goes, while the fenced stage may still run
// (edge 23). Here it stays until the stage is over.
TEST_F(Session, ScratchDroppedUnderAFenceStaysResidentUntilTheStageEnds) {
  const auto members = [&] { return device.counters().residency_allocations; };
  const Buffer one = floats(device, {1, 1, 1, 1}), two = floats(device, {2, 2, 2, 2});
  const uint64_t others = members();
  auto s = session();
  {
    Buffer scratch = zeros(device, 4);
    EXPECT_EQ(members(), others + 1);
    const StageFence held = gate();
    EXPECT_OK(s.wait_for(held));
    EXPECT_OK(add(s.encoder(), a, b, scratch));
    EXPECT_OK(s.fence_stage());
    EXPECT_EQ(members(), others + 1);
    std::weak_ptr<Storage> storage = scratch.storage();
    scratch = Buffer();
    EXPECT_FALSE(storage.expired());
    EXPECT_EQ(members(), others + 1) << "the GPU has not run yet";
    held.event->setSignaledValue(1);
  }
  EXPECT_OK(s.wait_for_fence(1));
  EXPECT_EQ(members(), others);
  EXPECT_OK(s.reset_for_next_stage());
  EXPECT_OK(add(s.encoder(), one, two, out));
  EXPECT_OK(s.commit_and_wait());
  EXPECT_EQ(read(out), std::vector<float>(4, 3.0f));
  EXPECT_EQ(members(), others);
  auto e = encoder();
  EXPECT_OK(add(e, a, b, out));
  EXPECT_OK(e.commit_and_wait());
  EXPECT_EQ(read(out), sum);
}

TEST_F(Session, AResetAfterEachFence) {
  auto s = session();
  for (int i = 0; i < 5; ++i) {
    EXPECT_OK(add(s.encoder(), a, b, out));
    EXPECT_OK(s.fence_stage());
    EXPECT_OK(s.reset_for_next_stage());
  }
  EXPECT_OK(s.commit_and_wait());
  EXPECT_EQ(s.fence_value(), 5u);
  EXPECT_EQ(s.wait_count(), 5u);
  EXPECT_EQ(device.counters().command_buffers, 6u);
  EXPECT_EQ(device.counters().syncs, 1u);
}

// Stages see each other's results: each adds one to what the last one wrote.
TEST_F(Session, StagesRunInOrder) {
  Buffer x = zeros(device, 64), y = zeros(device, 64);
  auto s = session();
  for (int i = 0; i < 40; ++i) {
    EXPECT_OK(inc_one(s.encoder(), x, y));
    std::swap(x, y);
    EXPECT_OK(i % 2 ? s.fence_stage() : s.commit_stage());
    EXPECT_OK(s.reset_for_next_stage());
  }
  EXPECT_OK(s.commit_and_wait());
  EXPECT_EQ(read(x), std::vector<float>(64, 40.0f));
  EXPECT_EQ(s.wait_count(), 20u) << "a plain commit needs no wait";
}

// States of the table in spec 2.11 that the tests above leave out. Edge 48: misuse is told.
TEST_F(Session, CallsWhileDrained) {
  auto s = session();
  EXPECT_OK(s.commit_stage());  // an empty one
  expect_state(s, true, false);
  EXPECT_ERROR(kInvalidState, add(s.encoder(), a, b, out));
  EXPECT_ERROR(kInvalidState, s.encoder().memory_barrier());
  auto fence = s.fence_stage("too late");
  EXPECT_ERROR(kInvalidState, fence);
  EXPECT_THAT(fence.error().message(), testing::HasSubstr("too late"));
  EXPECT_ERROR(kInvalidState, s.wait_for(gate()));
  EXPECT_EQ(s.fence_value(), 0u);
  EXPECT_OK(s.commit_stage());
  EXPECT_OK(s.commit_and_wait());
  EXPECT_OK(s.reset_for_next_stage());
  expect_state(s, false, false);
  EXPECT_EQ(s.wait_count(), 0u) << "no fence was pending";
  EXPECT_OK(s.fence_stage());  // an empty stage signals too
  EXPECT_ERROR(kInvalidState, s.fence_stage());
  EXPECT_OK(s.commit_stage());
  expect_state(s, true, true);
  EXPECT_OK(s.reset_for_next_stage());
  EXPECT_OK(s.commit_and_wait());
  EXPECT_EQ(s.wait_count(), 1u);
}

TEST_F(Session, ResetOfAnOpenStage) {
  auto s = session();
  EXPECT_OK(s.reset_for_next_stage());
  EXPECT_EQ(device.counters().command_buffers, 1u) << "no effect on an empty stage";
  EXPECT_OK(add(s.encoder(), a, b, out));
  EXPECT_ERROR(kInvalidState, s.reset_for_next_stage());
  EXPECT_OK(s.commit_and_wait());
  EXPECT_EQ(read(out), sum);
}

// Edge 47: a blocking commit of a fenced session returns in the original before the work is done.
TEST_F(Session, CommitAndWaitWaitsForAFencedStage) {
  auto s = session();
  StageFence held = gate();
  EXPECT_OK(s.wait_for(held));
  EXPECT_OK(add(s.encoder(), a, b, out));
  EXPECT_OK(s.fence_stage());
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    held.event->setSignaledValue(1);
  });
  EXPECT_OK(s.commit_and_wait());
  EXPECT_EQ(held.event->signaledValue(), 1u);
  EXPECT_EQ(read(out), sum);
}

TEST_F(Session, AFencedStageCanBeWaitedFor) {
  auto s = session();
  EXPECT_OK(add(s.encoder(), a, b, out));
  EXPECT_OK(s.fence_stage());
  EXPECT_OK(s.wait_for_fence(1));
  EXPECT_EQ(read(out), sum);
  EXPECT_ERROR(kInvalidArgument, s.wait_for_fence(2));
  EXPECT_ERROR(kInvalidArgument, s.wait_for_fence(0));
  EXPECT_OK(s.wait_for_all());
}

// Edge 46: in the original the error of a fenced stage is lost, and the chain may hang.
TEST_F(Session, AFailedStageInTheMiddlePoisonsTheSession) {
  LogLines quiet;
  for (uint64_t failing = 0; failing < 4; ++failing) {
    auto s = session();
    metal::inject_fault(device.metal_device(), metal::Fault::kRun, failing);
    Status status;
    for (int stage = 0; stage < 4 && status; ++stage) {
      status = add(s.encoder(), a, b, out);
      if (status) status = s.fence_stage("stage" + std::to_string(stage));
      if (status) status = s.reset_for_next_stage();
    }
    if (status) status = s.commit_and_wait();
    EXPECT_ERROR(kExecutionFailed, status) << failing;
    EXPECT_THAT(status.error().message(), testing::HasSubstr("stage" + std::to_string(failing)));
    auto again = s.commit_and_wait();
    EXPECT_ERROR(kExecutionFailed, again) << "sticky";
    EXPECT_EQ(again.error().message(), status.error().message()) << "the first one";
  }
  auto healthy = session();
  EXPECT_OK(add(healthy.encoder(), a, b, out));
  EXPECT_OK(healthy.commit_and_wait());
}

// Edge 49: fenced stages are invisible to the original's profile, and only the command buffer gets
// the label.
TEST_F(Session, FencedStagesAreProfiled) {
  const Device profiled = device_with(&RuntimeOptions::profile_command_buffers);
  const Buffer x = zeros(profiled, 4), y = zeros(profiled, 4);
  auto s = *profiled.encoder_session();
  for (int i = 0; i < 3; ++i) {
    EXPECT_OK(inc_one(s.encoder(), x, y));
    EXPECT_OK(s.fence_stage("fenced"));
    EXPECT_OK(s.reset_for_next_stage());
  }
  EXPECT_OK(s.commit_and_wait());
  const auto table = profiled.profile().dump();
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0].first, "fenced");
  EXPECT_EQ(table[0].second.count, 3u);
  EXPECT_EQ(profiled.counters().syncs, 1u) << "profiling does not make stages block";
}

TEST_F(Session, CaptureSurvivesTheNextStage) {
  auto s = session();
  s.encoder().start_capture();
  EXPECT_OK(add(s.encoder(), a, b, out));
  EXPECT_OK(s.fence_stage());
  EXPECT_OK(s.reset_for_next_stage());
  EXPECT_TRUE(s.encoder().is_capturing());
  EXPECT_OK(add(s.encoder(), a, b, out));
  EXPECT_EQ(s.encoder().take_capture()->size(), 2u);
  EXPECT_OK(s.commit_and_wait());
  EXPECT_EQ(read(out), std::vector<float>(4, 0.0f));
}

TEST_F(Session, AStageCanWaitForAnotherSession) {
  auto producer = session(), consumer = session();
  StageFence held = gate();
  const Buffer second = zeros(device, 4);
  EXPECT_OK(producer.wait_for(held));
  EXPECT_OK(add(producer.encoder(), a, b, out));
  EXPECT_OK(producer.fence_stage());
  EXPECT_OK(consumer.wait_for(producer.fence()));
  EXPECT_OK(inc_one(consumer.encoder(), out, second));
  EXPECT_OK(consumer.commit_stage());
  held.event->setSignaledValue(1);
  EXPECT_OK(consumer.wait_for_all());
  EXPECT_EQ(read(second), (std::vector<float>{12, 23, 34, 45}));
  EXPECT_ERROR(kInvalidArgument, session().wait_for(StageFence()));
  EXPECT_OK(producer.wait_for_all());
}

TEST_F(Session, MayEndInEveryState) {
  for (int state = 0; state < 6; ++state) {
    auto s = session();
    if (state >= 1) EXPECT_OK(add(s.encoder(), a, b, out));
    if (state == 2) EXPECT_OK(s.commit_stage());
    if (state == 3) EXPECT_OK(s.fence_stage());
    if (state >= 4) EXPECT_OK(s.fence_stage());
    if (state >= 4) EXPECT_OK(s.reset_for_next_stage());
    if (state == 5) EXPECT_OK(add(s.encoder(), a, b, out));
  }
  EXPECT_OK(device.synchronize());
}

TEST_F(Session, MovesBetweenThreadsWithItsWork) {
  auto s = session();
  EXPECT_OK(add(s.encoder(), a, b, out));
  std::jthread([moved = std::move(s)]() mutable { EXPECT_OK(moved.commit_and_wait()); });
  EXPECT_EQ(read(out), sum);
}

TEST_F(Session, AddingAResidentBufferAgainChangesNothing) {
  EncoderSession session = *device.encoder_session();
  const uint64_t before = device.counters().residency_allocations;
  {
    const Buffer buffer = zeros(device, 4);
    EXPECT_TRUE(session.add_to_residency_set(buffer));
    EXPECT_EQ(device.counters().residency_allocations, before + 1);
  }
  EXPECT_EQ(device.counters().residency_allocations, before);
  EXPECT_FALSE(session.add_to_residency_set(Buffer()));
  EXPECT_FALSE(session.remove_from_residency_set(Buffer()));
}

// The pass that a wait ends orders its dispatches against the next one by itself.
TEST_F(Session, AWaitInsideAStageNeedsNoBarrier) {
  const Device device = device_with(&RuntimeOptions::auto_barrier);
  const Buffer a = floats(device, {1, 2}), b = zeros(device, 2), c = zeros(device, 2);
  EncoderSession other = *device.encoder_session(), session = *device.encoder_session();
  EXPECT_OK(other.fence_stage());
  EXPECT_OK(inc_one(session.encoder(), a, b));
  EXPECT_OK(session.wait_for(other.fence()));
  EXPECT_OK(inc_one(session.encoder(), b, c));
  EXPECT_OK(session.commit_and_wait());
  EXPECT_EQ(read(c), (std::vector<float>{3, 4}));
  EXPECT_EQ(device.counters().auto_barriers, 0u);
  EXPECT_EQ(device.counters().barriers, 0u);
}

// Queues come and go; each takes a thread of the run time with it.
TEST_F(Session, QueuesEndWithTheirLastUser) {
  const Device device = make_device();
  const NS::UInteger before = device.metal_queue()->retainCount();
  for (int i = 0; i < 3; ++i) {
    const Device queue = *device.with_new_queue();
    EXPECT_EQ(queue.metal_queue()->retainCount(), before);
    EncoderSession session = *queue.encoder_session();
    EXPECT_OK(session.commit_and_wait());
  }
}

}  // namespace
}  // namespace mlxn::test
