// What the headers of encoders and plans say, taken at their word.
#include <thread>

#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/encode/session.h"
#include "mlxn/core/graph/graph.h"
#include "mlxn/core/memory/internal/storage.h"
#include "mlxn/ops/op_kind.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

using ::testing::HasSubstr;

class Promises : public testing::Test {
 protected:
  CommandEncoder encoder() const { return *device.command_encoder(); }
  uint64_t automatic() const { return device.counters().auto_barriers; }
  Pipeline inc() const { return kernel(device, "inc_one"); }
  // One of inc_one's, as it was recorded.
  CapturedNode recorded(const Buffer& in, const Buffer& out) const {
    CommandEncoder e = encoder();
    e.start_capture();
    EXPECT_OK(inc_one(e, in, out));
    return e.take_capture()->front();
  }

  Device device = device_with(&RuntimeOptions::auto_barrier);
  Buffer x = floats(device, {1, 2, 3, 4}), y = zeros(device, 4), w = zeros(device, 4),
         other = zeros(device, 4);
};

// A capture and the pass know nothing of each other.

TEST_F(Promises, ACapturedBarrierLeavesThePassAlone) {
  for (const bool explicit_one : {true, false}) {
    const uint64_t before = automatic();
    auto e = encoder();
    EXPECT_OK(inc_one(e, x, y));
    e.start_capture();
    if (explicit_one) {
      EXPECT_OK(e.memory_barrier());
    } else {
      EXPECT_FALSE(*e.barrier_between({&y}, {&w})) << "nothing was captured that wrote y";
      EXPECT_TRUE(*e.barrier_between({&w}, {&y}));
    }
    EXPECT_TRUE(e.take_capture());
    EXPECT_OK(inc_one(e, y, w));
    EXPECT_EQ(automatic() - before, 1u) << explicit_one;
    EXPECT_OK(e.commit_and_wait());
    EXPECT_EQ(read(w), (std::vector<float>{3, 4, 5, 6}));
  }
}

TEST_F(Promises, WhatIsCapturedIsNotInThePass) {
  auto e = encoder();
  EXPECT_OK(inc_one(e, x, y));
  const size_t live = e.mem_ranges_len();
  e.start_capture();
  EXPECT_EQ(e.mem_ranges_len(), 0u);
  EXPECT_OK(e.add_to_tracker({&other}, {&w}));
  EXPECT_TRUE(*e.barrier_between({&w}, {}));
  (void)e.take_capture();
  EXPECT_EQ(e.mem_ranges_len(), live);
}

// "For the next dispatch or replay only."

using Attempt = void (*)(Promises&, CommandEncoder&);

class NextOnly : public Promises {
 public:
  // Announces a kind, and accesses that are not those of inc_one(y, w).
  void announce(CommandEncoder& e) {
    e.set_op_kind(OpKind::kSdpa);
    e.set_pending_buffer_ranges({BufferRange::from_buffer(other, MemRangeRole::kSrc)}, {});
  }
  void expect_forgotten(const std::function<void(CommandEncoder&)>& attempt, const char* name) {
    SCOPED_TRACE(name);
    const Buffer in = floats(device, {1, 2, 3, 4}), middle = zeros(device, 4),
                 out = zeros(device, 4);
    auto e = encoder();
    EXPECT_OK(inc_one(e, in, middle));
    announce(e);
    attempt(e);
    EXPECT_OK(e.add_to_tracker({}, {&middle}));  // as after the dispatch, whatever came between
    const uint64_t before = automatic();
    EXPECT_OK(inc_one(e, middle, out));
    EXPECT_EQ(automatic() - before, 1u);
    e.start_capture();
    EXPECT_OK(inc_one(e, in, out));
    announce(e);
    attempt(e);
    EXPECT_OK(inc_one(e, middle, out));
    const auto nodes = *e.take_capture();
    EXPECT_EQ(nodes.back().op, OpKind::kOther);
    EXPECT_EQ(nodes.back().accesses.size(), 3u) << "two reads and a write, by reflection";
  }
};

TEST_F(NextOnly, ARefusedDispatch) {
  expect_forgotten(
      [&](auto& e) { EXPECT_ERROR(kInvalidArgument, e.encode(inc(), {}, width(4), width(4))); },
      "unbound");
  expect_forgotten(
      [&](auto& e) {
        EXPECT_ERROR(kInvalidArgument, e.encode(inc(), {{0, &x}, {1, &other}}, width(0), width(4)));
      },
      "empty grid");
  expect_forgotten(
      [&](auto& e) {
        const std::vector<ComputeEncoder::BufferBinding> many(40, {0, &x});
        EXPECT_ERROR(kInvalidArgument, e.encode(inc(), many, width(4), width(4)));
      },
      "too many bindings");
}

TEST_F(NextOnly, AReplay) {
  auto plan = *ReplayPlan::create(device, {recorded(x, other)});
  expect_forgotten([&](auto& e) { EXPECT_OK(e.replay(plan)); }, "replay");
  expect_forgotten([&](auto& e) { EXPECT_ERROR(kInvalidArgument, e.replay(nullptr)); }, "no plan");
  const CapturedNode node = recorded(x, other);
  expect_forgotten([&](auto& e) { EXPECT_OK(e.replay_dispatch(node)); }, "replay_dispatch");
  CapturedNode broken = node;
  broken.pipeline = {};
  expect_forgotten([&](auto& e) { EXPECT_ERROR(kInvalidArgument, e.replay_dispatch(broken)); },
                   "refused");
}

TEST_F(NextOnly, ABarrierIsNoDispatch) {
  auto e = encoder();
  announce(e);
  CapturedNode barrier;
  barrier.is_barrier = true;
  EXPECT_OK(e.replay_dispatch(barrier));
  e.start_capture();
  EXPECT_OK(inc_one(e, x, y));
  const auto nodes = *e.take_capture();
  EXPECT_EQ(nodes.front().op, OpKind::kSdpa);
  EXPECT_EQ(nodes.front().accesses.size(), 1u);
}

// "A call that fails has encoded and tracked nothing."

TEST_F(Promises, ARefusedReplayTracksNothing) {
  CapturedNode broken = recorded(x, y);
  broken.grid = MTL::Size(0, 1, 1);
  auto e = encoder();
  EXPECT_ERROR(kInvalidArgument, e.replay_dispatch(broken));
  EXPECT_EQ(e.mem_ranges_len(), 0u);
  e.start_capture();
  EXPECT_ERROR(kInvalidArgument, e.replay_dispatch(broken));
  EXPECT_TRUE(e.take_capture()->empty());
}

TEST_F(Promises, ARefusedDispatchIsNotCounted) {
  auto e = encoder();
  const uint64_t before = device.counters().dispatches;
  EXPECT_ERROR(kInvalidArgument, e.encode(inc(), {}, width(4), width(4)));
  EXPECT_EQ(device.counters().dispatches, before);
}

// "Counted where they are emitted."

TEST_F(Promises, AutomaticBarriersAreBarriers) {
  auto e = encoder();
  EXPECT_OK(e.add_to_tracker({}, {&x}));
  EXPECT_OK(inc_one(e, x, y));
  EXPECT_EQ(automatic(), 0u) << "there was nothing in the pass to order";
  EXPECT_EQ(device.counters().barriers, 0u);
  EXPECT_OK(inc_one(e, y, w));
  EXPECT_EQ(automatic(), 1u);
  EXPECT_EQ(device.counters().barriers, 1u);
}

TEST_F(Promises, BarrierBetweenTellsWhetherThereIsOne) {
  auto e = encoder();
  EXPECT_OK(e.add_to_tracker({}, {&x}));
  EXPECT_FALSE(*e.barrier_between({&x}, {&y})) << "no pass, no barrier";
  EXPECT_EQ(device.counters().barriers, 0u);
}

// Accesses that are not known stay so.

TEST_F(Promises, AnAnnotationWithoutAccessesIsNone) {
  const Pipeline unknown = *Pipeline::wrap(inc().metal(), "unknown");
  auto e = encoder();
  e.start_capture();
  EXPECT_OK(e.encode(unknown, {{0, &x}, {1, &y}}, width(4), width(4)));
  e.set_pending_buffer_ranges({}, {BufferRange::from_buffer(w, MemRangeRole::kDst)});
  e.annotate_last_dispatch_if_missing({}, {});
  EXPECT_OK(e.encode(unknown, {{0, &x}, {1, &w}}, width(4), width(4)));
  EXPECT_OK(e.encode(unknown, {{0, &x}, {1, &other}}, width(4), width(4)));
  e.set_pending_buffer_ranges({}, {BufferRange::from_buffer(y, MemRangeRole::kDst)});
  e.annotate_last_dispatch_if_missing({}, {BufferRange::from_buffer(other, MemRangeRole::kSrc)});
  EXPECT_OK(e.encode(unknown, {{0, &x}, {1, &y}}, width(4), width(4)));
  const auto nodes = *e.take_capture();
  EXPECT_FALSE(nodes[0].annotated);
  EXPECT_EQ(nodes[0].accesses, std::vector{BufferRange::everything()});
  const auto write_of = [](const Buffer& buffer) {
    return std::vector{BufferRange::from_buffer(buffer, MemRangeRole::kDst)};
  };
  EXPECT_EQ(nodes[1].accesses, write_of(w)) << "what was announced is still for the next dispatch";
  EXPECT_EQ(nodes[2].accesses, write_of(other));
  EXPECT_EQ(nodes[3].accesses, write_of(y));
}

// A kernel knows nothing of views.

TEST_F(Promises, AKernelMayWritePastItsView) {
  const Buffer both = zeros(device, 8);
  const Buffer low = *both.slice_view(0, 4), high = *both.slice_view(16, 4);
  auto e = encoder();
  const Buffer eight = floats(device, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_OK(e.encode(inc(), {{0, &eight}, {1, &low}}, width(8), width(8)));
  EXPECT_OK(inc_one(e, high, w));
  EXPECT_EQ(automatic(), 1u);
  EXPECT_OK(e.commit_and_wait());
  EXPECT_EQ(read(w), (std::vector<float>{7, 8, 9, 10}));
}

TEST_F(Promises, WhoDeclaresIsTakenAtHisWord) {
  const Buffer both = zeros(device, 8);
  const Buffer low = *both.slice_view(0, 4), high = *both.slice_view(16, 4);
  auto e = encoder();
  EXPECT_OK(e.dispatch_tracked_threads_with_args(inc(), {{0, x}, {1, low}}, {&x}, {&low}, width(4),
                                                 width(4)));
  EXPECT_OK(inc_one(e, high, w));
  EXPECT_EQ(automatic(), 0u);
}

// Plans are checked once.

class PlanChecks : public Promises {
 protected:
  void expect_refused(ErrorCode code, const char* part, void (*change)(CapturedNode&)) {
    CapturedNode bad = recorded(x, y);
    change(bad);
    CapturedNode barrier;
    barrier.is_barrier = true;
    auto plan = ReplayPlan::create(device, {recorded(x, y), barrier, bad});
    ASSERT_FALSE(plan) << part;
    EXPECT_EQ(plan.error().code(), code) << plan.error().to_string();
    EXPECT_THAT(plan.error().message(), HasSubstr("node 2"));
    EXPECT_THAT(plan.error().message(), HasSubstr(part));
  }
};

TEST_F(PlanChecks, NodesMadeByHand) {
  using enum ErrorCode;
  expect_refused(kOutOfRange, "slot 40000", [](auto& node) { node.bindings[0].slot = 40000; });
  expect_refused(kInvalidArgument, "bound twice", [](auto& node) { node.bindings[0].slot = 1; });
  expect_refused(kInvalidArgument, "is not bound", [](auto& node) { node.bindings.pop_back(); });
  expect_refused(kInvalidArgument, "no pipeline", [](auto& node) { node.pipeline = {}; });
  expect_refused(kInvalidArgument, "grid (0", [](auto& node) { node.grid.width = 0; });
  expect_refused(kInvalidArgument, "threadgroup (5000",
                 [](auto& node) { node.threadgroup.width = 5000; });
  expect_refused(kInvalidArgument, "index 31",
                 [](auto& node) { node.threadgroup_memory.push_back({31, 16}); });
  expect_refused(kInvalidArgument, "inline bytes",
                 [](auto& node) { node.bindings[0].storage.reset(); });
  expect_refused(kOutOfRange, "within the 16 bytes",
                 [](auto& node) { node.bindings[0].offset = 8; });
  expect_refused(kOutOfRange, "within the 16 bytes",
                 [](auto& node) { node.bindings[0].offset = UINT64_MAX; });
}

TEST_F(PlanChecks, AnotherDevicesPipelineAndMemory) {
  const auto metal = make_metal_device();
  const Device foreign = *Device::wrap(metal.get(), {});
  const Buffer a = zeros(foreign, 4), b = zeros(foreign, 4);
  KernelRegistry registry;
  registry.register_library("core_test", kKernelSource);
  CapturedNode bad = recorded(x, y);
  bad.pipeline = *registry.get_pipeline("inc_one", foreign);
  EXPECT_ERROR(kInvalidArgument, ReplayPlan::create(device, {bad}));
  bad = recorded(x, y);
  bad.bindings[0].storage = a.storage();
  EXPECT_ERROR(kInvalidArgument, ReplayPlan::create(device, {bad}));
}

// Arguments that are too short are refused where they are bound.

TEST_F(Promises, ShortArgumentsAreRefused) {
  KernelRegistry registry;
  registry.register_library("shape", R"(
    struct Shape { uint rows, columns; float factor[4]; };
    kernel void fill(device float* out [[buffer(0)]], constant Shape& shape [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
      if (i < shape.rows) out[i] = shape.factor[i % 4];
    })");
  const Pipeline fill = *registry.get_pipeline("fill", device);
  const std::vector<std::byte> bytes(24);
  const auto bind = [&](const KernelArg& shape) -> Status {
    auto e = encoder();
    MLXN_TRY(e.encode_with_args(fill, {{0, x}, {1, shape}}, width(4), width(4)));
    return e.commit_and_wait();
  };
  EXPECT_OK(bind(std::span(bytes)));
  auto refused = bind(std::span(bytes).first(20));
  EXPECT_ERROR(kInvalidArgument, refused);
  EXPECT_THAT(refused.error().message(),
              HasSubstr("slot 1: 20 inline bytes, expected at least 24 for argument 'shape'"));
  const Buffer long_enough = zeros(device, 6);
  EXPECT_OK(bind(long_enough));
  EXPECT_ERROR(kInvalidArgument, bind({long_enough, 4}));
  EXPECT_ERROR(kInvalidArgument, bind(x));
}

// Whatever is done to the raw command buffer, nobody hangs.

TEST_F(Promises, ARawCommitIsAnErrorAndNoHang) {
  auto e = encoder();
  e.metal_command_buffer()->commit();
  EXPECT_ERROR(kInvalidState, e.commit());
  EXPECT_OK(device.synchronize());
  EXPECT_ERROR(kInvalidState, e.wait_until_completed());
}

TEST_F(Promises, ARawCommitBelowAnOpenPass) {
  auto e = encoder();
  EXPECT_OK(inc_one(e, x, y));
  e.metal_command_buffer()->commit();
  EXPECT_FALSE(e.commit_and_wait());
  EXPECT_OK(device.synchronize());
}

TEST_F(Promises, ARawCommitBelowASession) {
  auto session = *device.encoder_session();
  session.metal_command_buffer()->commit();
  EXPECT_ERROR(kInvalidState, session.fence_stage());
  EXPECT_ERROR(kInvalidState, session.commit_and_wait());
  EXPECT_OK(device.synchronize());
}

TEST_F(Promises, ARawPassLeftOpen) {
  const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  auto e = encoder();
  auto raw = NS::RetainPtr(e.metal_command_buffer()->computeCommandEncoder());
  EXPECT_FALSE(e.commit_and_wait());
  raw->endEncoding();
  (void)device.synchronize().has_value();
}

// It holds what the command buffer uses.
TEST_F(Promises, AnEncoderIsNotGoneBeforeItsWork) {
  const auto event = NS::TransferPtr(device.metal_device()->newSharedEvent());
  NS::SharedPtr<MTL::CommandBuffer> raw;
  std::jthread later;
  {
    auto e = encoder();
    raw = NS::RetainPtr(e.metal_command_buffer());
    raw->encodeWait(event.get(), 1);
    raw->commit();
    later = std::jthread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      event->setSignaledValue(1);
    });
  }
  EXPECT_EQ(raw->status(), MTL::CommandBufferStatusCompleted);
}

TEST_F(Promises, AnEncoderDroppedAfterARawCommit) {
  Buffer out = zeros(device, 4);
  {
    auto e = encoder();
    EXPECT_OK(e.memory_barrier());
    e.metal_command_buffer()->enqueue();
    e.metal_command_buffer()->commit();
  }
  EXPECT_OK(device.synchronize());
}

}  // namespace
}  // namespace mlxn::test
