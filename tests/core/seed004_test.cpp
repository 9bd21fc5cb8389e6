// Seed 004: every public method of the command encoder, with its mended behaviour.
#include <cstring>

#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/memory/internal/storage.h"
#include "mlxn/ops/op_kind.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class Seed004 : public testing::Test {
 protected:
  explicit Seed004(const RuntimeOptions& options = {}) : device(make_device(options)) {}

  CommandEncoder encoder() const { return *device.command_encoder(); }
  // Commits and waits, then reads.
  std::vector<float> result(CommandEncoder& encoder, const Buffer& buffer) const {
    EXPECT_OK(encoder.commit_and_wait());
    return read(buffer);
  }
  static std::string label_of(ComputeEncoder& encoder) {
    const NS::String* label = encoder.metal_command_buffer()->label();
    return label ? label->utf8String() : "";
  }

  Device device;
  const std::vector<float> data = {1, 2, 3, 4, 5, 6, 7, 8};
  Buffer in = floats(device, data), out = zeros(device, 8);
  Pipeline inc = kernel(device, "inc_one"), scale = kernel(device, "scale"),
           reverse = kernel(device, "reverse");
  const std::vector<float> plus_one = {2, 3, 4, 5, 6, 7, 8, 9};
  const std::vector<float> halves_reversed = {4, 3, 2, 1, 8, 7, 6, 5};
};

// The six ways to dispatch.

TEST_F(Seed004, Encode) {
  auto e = encoder();
  EXPECT_OK(e.encode(inc, {{0, &in}, {1, &out}}, width(8), width(4)));
  EXPECT_EQ(result(e, out), plus_one);
}

TEST_F(Seed004, EncodeThreadgroups) {
  auto e = encoder();
  EXPECT_OK(e.encode_threadgroups(inc, {{0, &in}, {1, &out}}, width(2), width(4)));
  EXPECT_EQ(result(e, out), plus_one);
}

TEST_F(Seed004, EncodeThreadgroupsWithShared) {
  auto e = encoder();
  EXPECT_OK(e.encode_threadgroups_with_shared(reverse, {{0, &in}, {1, &out}}, {{0, 16}}, width(2),
                                              width(4)));
  EXPECT_EQ(result(e, out), halves_reversed);
}

TEST_F(Seed004, EncodeWithArgs) {
  auto e = encoder();
  const float factor = 3;
  EXPECT_OK(
      e.encode_with_args(scale, {{0, in}, {1, out}, {2, as_bytes(factor)}}, width(8), width(4)));
  EXPECT_EQ(result(e, out), (std::vector<float>{3, 6, 9, 12, 15, 18, 21, 24}));
}

TEST_F(Seed004, EncodeThreadgroupsWithArgs) {
  auto e = encoder();
  const float factor = -1;
  EXPECT_OK(e.encode_threadgroups_with_args(scale, {{0, in}, {1, out}, {2, as_bytes(factor)}},
                                            width(2), width(4)));
  EXPECT_EQ(result(e, out)[7], -8);
}

TEST_F(Seed004, EncodeThreadgroupsWithArgsAndShared) {
  auto e = encoder();
  EXPECT_OK(e.encode_threadgroups_with_args_and_shared(reverse, {{0, in}, {1, out}}, {{0, 16}},
                                                       width(2), width(4)));
  EXPECT_EQ(result(e, out), halves_reversed);
}

// The five tracked ways; with the gate on they are the subject of seed 001.

TEST_F(Seed004, DispatchTrackedForms) {
  const std::vector<ThreadgroupMemory> memory = {{0, 16}};
  const auto check = [&](const std::vector<float>& expected, auto encode) {
    auto e = encoder();
    out = zeros(device, 8);
    EXPECT_OK(encode(e));
    EXPECT_EQ(result(e, out), expected);
  };
  check(plus_one, [&](ComputeEncoder& e) {
    return e.dispatch_tracked_threadgroups(inc, {{0, &in}, {1, &out}}, {&in}, {&out}, width(2),
                                           width(4));
  });
  check(halves_reversed, [&](ComputeEncoder& e) {
    return e.dispatch_tracked_threadgroups_with_shared(reverse, {{0, &in}, {1, &out}}, memory,
                                                       {&in}, {&out}, width(2), width(4));
  });
  check(plus_one, [&](ComputeEncoder& e) {
    return e.dispatch_tracked_threadgroups_with_args(inc, {{0, in}, {1, out}}, {&in}, {&out},
                                                     width(2), width(4));
  });
  check(halves_reversed, [&](ComputeEncoder& e) {
    return e.dispatch_tracked_threadgroups_with_args_and_shared(
        reverse, {{0, in}, {1, out}}, memory, {&in}, {&out}, width(2), width(4));
  });
  check(plus_one, [&](ComputeEncoder& e) {
    return e.dispatch_tracked_threads_with_args(inc, {{0, in}, {1, out}}, {&in}, {&out}, width(8),
                                                width(4));
  });
}

// Arguments.

TEST_F(Seed004, BuffersBindFromTheStartOfTheirView) {
  auto e = encoder();
  const Buffer tail = *in.slice_view(16, 4), part = *out.slice_view(8, 4);
  EXPECT_OK(e.encode(inc, {{0, &tail}, {1, &part}}, width(4), width(4)));
  EXPECT_EQ(result(e, out), (std::vector<float>{0, 0, 6, 7, 8, 9, 0, 0}));
}

// Edge 10: the original forgets the view's own offset here.
TEST_F(Seed004, AnOffsetCountsFromTheStartOfTheView) {
  auto e = encoder();
  const Buffer tail = *in.slice_view(8, 6);
  EXPECT_OK(e.encode_with_args(inc, {{0, {tail, 8}}, {1, out}}, width(4), width(4)));
  EXPECT_EQ(result(e, out), (std::vector<float>{6, 7, 8, 9, 0, 0, 0, 0}));
}

TEST_F(Seed004, AsBytesViewsAStruct) {
  const struct {
    float eps;
    uint32_t dim;
  } params = {0.5f, 7};
  const auto bytes = as_bytes(params);
  ASSERT_EQ(bytes.size(), 8u);
  EXPECT_EQ(std::memcmp(bytes.data(), &params, 8), 0);
}

// Op kinds.

TEST_F(Seed004, OpKindsHaveNamesAndSayWhetherTheyMove) {
  const std::vector<std::tuple<OpKind, std::string, bool>> kinds = {
      {OpKind::kRmsNorm, "RmsNorm", true},  {OpKind::kElemMul, "ElemMul", true},
      {OpKind::kElemAdd, "ElemAdd", true},  {OpKind::kSdpa, "Sdpa", false},
      {OpKind::kSoftmax, "Softmax", false}, {OpKind::kOther, "Other", true}};
  for (const auto& [kind, name, moves] : kinds) {
    EXPECT_EQ(to_string(kind), name);
    EXPECT_EQ(is_reorderable(kind), moves) << name;
  }
}

TEST_F(Seed004, SetOpKindTagsTheNextDispatchOnly) {
  auto e = encoder();
  e.start_capture();
  e.set_op_kind(OpKind::kSoftmax);
  e.set_op_kind(OpKind::kSdpa);
  for (int i = 0; i < 2; ++i) EXPECT_OK(inc_one(e, in, out));
  const auto nodes = *e.take_capture();
  EXPECT_EQ(nodes.at(0).op, OpKind::kSdpa);
  EXPECT_EQ(nodes.at(1).op, OpKind::kOther);
}

// Capture.

TEST_F(Seed004, CaptureTakesDispatchesDownInsteadOfRunningThem) {
  auto e = encoder();
  EXPECT_FALSE(e.is_capturing());
  EXPECT_FALSE(e.take_capture());
  e.start_capture();
  EXPECT_TRUE(e.is_capturing());
  const float factor = 2;
  EXPECT_OK(e.encode_with_args(scale,
                               {{0, *in.slice_view(16, 4)}, {1, {out, 8}}, {2, as_bytes(factor)}},
                               width(4), width(4)));
  EXPECT_OK(e.memory_barrier());
  EXPECT_OK(e.encode_threadgroups_with_shared(reverse, {{0, &in}, {1, &out}}, {{0, 16}}, width(2),
                                              width(4)));
  const auto nodes = *e.take_capture();
  EXPECT_FALSE(e.is_capturing());
  ASSERT_EQ(nodes.size(), 3u);
  const CapturedNode& first = nodes[0];
  EXPECT_EQ(first.pipeline, scale);
  EXPECT_EQ(first.kind, DispatchKind::kThreads);
  ASSERT_EQ(first.bindings.size(), 3u);
  EXPECT_EQ(first.binding(0)->storage, in.storage());
  EXPECT_EQ(first.binding(0)->offset, 16u);
  EXPECT_EQ(first.binding(1)->offset, 8u);
  EXPECT_EQ(first.binding(2)->storage, nullptr);
  EXPECT_EQ(first.binding(2)->bytes.size(), 4u);
  EXPECT_EQ(first.binding(3), nullptr);
  EXPECT_TRUE(nodes[1].is_barrier);
  EXPECT_EQ(nodes[2].kind, DispatchKind::kThreadgroups);
  ASSERT_EQ(nodes[2].threadgroup_memory.size(), 1u);
  EXPECT_EQ(nodes[2].threadgroup_memory[0].bytes, 16u);
  EXPECT_EQ(device.counters().dispatches, 2u);
  EXPECT_EQ(device.counters().barriers, 0u);
  EXPECT_EQ(result(e, out), std::vector<float>(8, 0.0f));
}

TEST_F(Seed004, ANewCaptureDropsTheOldOneAndKeepsTheEncodedWork) {
  auto e = encoder();
  EXPECT_OK(inc_one(e, in, out));
  e.start_capture();
  EXPECT_OK(inc_one(e, out, in));
  e.start_capture();
  EXPECT_EQ(e.take_capture()->size(), 0u);
  EXPECT_EQ(result(e, out), plus_one);
  EXPECT_EQ(read(in), data);
}

TEST_F(Seed004, PendingRangesGoToTheNextDispatchAndNoFurther) {
  const auto a = BufferRange::from_buffer(in, MemRangeRole::kSrc);
  const auto b = BufferRange::from_buffer(out, MemRangeRole::kDst);
  auto e = encoder();
  e.set_pending_buffer_ranges({a}, {});
  e.set_pending_buffer_ranges({}, {b});  // replaces
  e.start_capture();
  for (int i = 0; i < 2; ++i) EXPECT_OK(inc_one(e, in, out));
  const auto nodes = *e.take_capture();
  EXPECT_EQ(nodes.at(0).reads(), std::vector<BufferRange>{});
  EXPECT_EQ(nodes.at(0).writes(), std::vector{b});
  EXPECT_NE(nodes.at(1).accesses, nodes.at(0).accesses) << "by reflection";
  // A live dispatch uses them up too.
  auto live = encoder();
  live.set_pending_buffer_ranges({}, {a});
  EXPECT_OK(inc_one(live, in, out));
  live.start_capture();
  EXPECT_OK(inc_one(live, in, out));
  EXPECT_EQ(live.take_capture()->at(0).accesses, nodes.at(1).accesses);
}

TEST_F(Seed004, AnnotateLastDispatchFillsInWhatIsMissing) {
  const auto read_range = BufferRange::from_buffer(in, MemRangeRole::kSrc);
  const auto write_range = BufferRange::from_buffer(out, MemRangeRole::kDst);
  // Without reflection nothing is known about a kernel.
  const Pipeline unknown = *Pipeline::wrap(inc.metal(), "unknown");
  auto e = encoder();
  e.annotate_last_dispatch_if_missing({read_range}, {write_range});  // not capturing
  e.start_capture();
  e.annotate_last_dispatch_if_missing({read_range}, {write_range});  // nothing there
  EXPECT_OK(e.encode(unknown, {{0, &in}, {1, &out}}, width(8), width(4)));
  e.annotate_last_dispatch_if_missing({read_range}, {write_range});
  e.annotate_last_dispatch_if_missing({}, {});  // not missing any more
  EXPECT_OK(e.encode(unknown, {{0, &in}, {1, &out}}, width(8), width(4)));
  EXPECT_OK(e.memory_barrier());
  e.annotate_last_dispatch_if_missing({read_range}, {write_range});  // the last node is a barrier
  const auto nodes = *e.take_capture();
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_TRUE(nodes[0].annotated);
  EXPECT_EQ(nodes[0].reads(), std::vector{read_range});
  EXPECT_EQ(nodes[0].writes(), std::vector{write_range});
  EXPECT_FALSE(nodes[1].annotated);
}

// Edge 55: a dispatch that declares no reads is annotated all the same.
TEST_F(Seed004, APureProducerIsAnnotated) {
  auto e = encoder();
  e.start_capture();
  EXPECT_OK(e.dispatch_tracked_threads_with_args(inc, {{0, in}, {1, out}}, {}, {&out}, width(8),
                                                 width(4)));
  EXPECT_TRUE(e.take_capture()->at(0).annotated);
}

TEST_F(Seed004, ReplayDispatchRunsARecordedNodeWithoutCountingIt) {
  auto recorder = encoder();
  recorder.start_capture();
  const float factor = 2;
  EXPECT_OK(recorder.encode_with_args(scale, {{0, in}, {1, out}, {2, as_bytes(factor)}}, width(8),
                                      width(4)));
  EXPECT_OK(recorder.memory_barrier());
  EXPECT_OK(recorder.encode_threadgroups_with_shared(reverse, {{0, &out}, {1, &in}}, {{0, 16}},
                                                     width(2), width(4)));
  const auto nodes = *recorder.take_capture();
  const Counters before = device.counters();
  auto e = encoder();
  for (const CapturedNode& node : nodes) EXPECT_OK(e.replay_dispatch(node));
  EXPECT_EQ((device.counters() - before).dispatches, 0u);
  EXPECT_EQ((device.counters() - before).barriers, 1u);
  EXPECT_EQ(result(e, in), (std::vector<float>{8, 6, 4, 2, 16, 14, 12, 10}));
  // Edge 32: a capturing encoder takes the node down; the original runs it.
  auto second = encoder();
  second.start_capture();
  EXPECT_OK(second.replay_dispatch(nodes[0]));
  EXPECT_EQ(second.take_capture()->size(), 1u);
}

// Piece by piece. Edge 32: set_buffer and dispatch_threads do nothing in the original.

TEST_F(Seed004, SetPipelineSetBufferDispatchThreads) {
  auto e = encoder();
  EXPECT_ERROR(kInvalidArgument, e.dispatch_threads(width(8), width(4)));
  EXPECT_OK(e.set_pipeline(inc));
  EXPECT_OK(e.set_buffer(0, in));
  EXPECT_ERROR(kInvalidArgument, e.dispatch_threads(width(8), width(4)));  // slot 1 is open
  EXPECT_OK(e.set_buffer(1, in));
  EXPECT_OK(e.set_buffer(1, out));
  EXPECT_ERROR(kOutOfRange, e.set_buffer(31, out));
  EXPECT_ERROR(kInvalidArgument, e.set_pipeline(Pipeline()));
  EXPECT_OK(e.dispatch_threads(width(8), width(4)));
  EXPECT_EQ(device.counters().dispatches, 1u);
  EXPECT_EQ(result(e, out), plus_one);
}

TEST_F(Seed004, SetPipelineKeepsToCaptureMode) {
  auto e = encoder();
  e.start_capture();
  EXPECT_OK(e.set_pipeline(inc));
  EXPECT_OK(e.set_buffer(0, in));
  EXPECT_OK(e.set_buffer(1, out));
  EXPECT_OK(e.dispatch_threads(width(8), width(4)));
  EXPECT_EQ(e.take_capture()->size(), 1u);
  EXPECT_EQ(result(e, out), std::vector<float>(8, 0.0f));
}

// Barriers.

TEST_F(Seed004, MemoryBarrierOrdersTheDispatches) {
  auto e = encoder();
  for (int i = 0; i < 10; ++i) {
    EXPECT_OK(inc_one(e, in, out));
    EXPECT_OK(e.memory_barrier());
    EXPECT_OK(inc_one(e, out, in));
    EXPECT_OK(e.memory_barrier());
  }
  EXPECT_EQ(device.counters().barriers, 20u);
  EXPECT_EQ(result(e, in)[0], 21.0f);
}

TEST_F(Seed004, ForceBarrierResetsTheTracker) {
  const Device tracked = device_with(&RuntimeOptions::auto_barrier);
  const Buffer a = zeros(tracked, 8), b = zeros(tracked, 8);
  auto e = *tracked.command_encoder();
  EXPECT_EQ(e.mem_ranges_len(), 0u);
  EXPECT_OK(e.dispatch_tracked_threads_with_args(kernel(tracked, "inc_one"), {{0, a}, {1, b}}, {&a},
                                                 {&b}, width(8), width(4)));
  EXPECT_EQ(e.mem_ranges_len(), 2u);
  EXPECT_OK(e.force_barrier_and_reset_tracker());
  EXPECT_EQ(e.mem_ranges_len(), 0u);
  EXPECT_EQ(tracked.counters().barriers, 1u);
  EXPECT_EQ(tracked.counters().auto_barriers, 0u);
}

// The commit family.

TEST_F(Seed004, CommitAndWaitUntilCompleted) {
  auto e = encoder();
  EXPECT_OK(inc_one(e, in, out));
  EXPECT_OK(e.commit());
  EXPECT_OK(e.wait_until_completed());
  EXPECT_OK(e.wait_until_completed());
  EXPECT_EQ(read(out), plus_one);
  EXPECT_EQ(device.counters().syncs, 0u);
}

TEST_F(Seed004, CommitAndWaitCountsASync) {
  auto e = encoder();
  EXPECT_OK(inc_one(e, in, out));
  EXPECT_OK(e.commit_and_wait());
  EXPECT_EQ(read(out), plus_one);
  EXPECT_EQ(device.counters().syncs, 1u);
}

TEST_F(Seed004, CommitWaitWithGpuTime) {
  auto e = encoder();
  EXPECT_OK(inc_one(e, in, out));
  EXPECT_EQ(e.gpu_time_ns(), 0u) << "not yet";
  auto times = e.commit_wait_with_gpu_time();
  ASSERT_TRUE(times) << times.error().to_string();
  EXPECT_GT(times->first, 0.0);
  EXPECT_GE(times->second, times->first);
  EXPECT_EQ(e.gpu_time_ns(), static_cast<uint64_t>((times->second - times->first) * 1e9));
  EXPECT_EQ(device.counters().syncs, 1u);
}

TEST_F(Seed004, LabelsAreSetOnTheCommandBuffer) {
  auto waited = encoder(), async = encoder(), plain = encoder();
  EXPECT_OK(inc_one(waited, in, out));
  EXPECT_OK(waited.commit_and_wait_labeled("waited"));
  EXPECT_EQ(label_of(waited), "waited");
  EXPECT_EQ(device.counters().syncs, 1u);
  EXPECT_OK(async.commit_labeled("async"));
  EXPECT_EQ(label_of(async), "async") << "before the wait";
  EXPECT_OK(async.wait_until_completed());
  EXPECT_EQ(device.counters().syncs, 1u);
  EXPECT_OK(plain.commit_and_wait());
  EXPECT_EQ(label_of(plain), "");
  auto unlabelled = encoder();
  EXPECT_ERROR(kInvalidArgument, unlabelled.commit_labeled(""));
  EXPECT_ERROR(kInvalidArgument, unlabelled.commit_and_wait_labeled(""));
  EXPECT_OK(unlabelled.commit_and_wait()) << "still open";
}

TEST_F(Seed004, LabelledCommitsFillTheProfile) {
  const Device profiled = device_with(&RuntimeOptions::profile_command_buffers);
  const Buffer a = zeros(profiled, 8), b = zeros(profiled, 8);
  for (int i = 0; i < 2; ++i) {
    auto e = *profiled.command_encoder();
    EXPECT_OK(inc_one(e, a, b));
    EXPECT_OK(e.commit_and_wait_labeled("layer"));
    EXPECT_EQ(profiled.profile().dump().at(0).second.count, static_cast<uint64_t>(i + 1));
  }
  const auto list = profiled.profile().command_buffers();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].label, "layer");
  EXPECT_EQ(list[0].dispatches, 1u);
  EXPECT_GE(list[0].end_ns, list[0].start_ns);
  EXPECT_GT(list[0].start_ns, 0u);
}

TEST_F(Seed004, MetalCommandBufferIsTheCurrentOne) {
  auto e = encoder();
  MTL::CommandBuffer* commands = e.metal_command_buffer();
  ASSERT_TRUE(commands);
  EXPECT_EQ(e.metal_command_buffer(), commands);
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusNotEnqueued);
  EXPECT_OK(e.commit_and_wait());
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusCompleted);
}

// Edge 33: all of these are undefined in the original.
TEST_F(Seed004, CallsInTheWrongOrderAreErrors) {
  auto e = encoder();
  EXPECT_ERROR(kInvalidState, e.wait_until_completed());
  EXPECT_OK(e.commit());
  EXPECT_ERROR(kInvalidState, e.commit());
  EXPECT_ERROR(kInvalidState, e.commit_and_wait());
  EXPECT_ERROR(kInvalidState, e.commit_labeled("again"));
  EXPECT_ERROR(kInvalidState, e.commit_wait_with_gpu_time());
  EXPECT_ERROR(kInvalidState, inc_one(e, in, out));
  EXPECT_ERROR(kInvalidState, e.memory_barrier());
  EXPECT_ERROR(kInvalidState, e.set_pipeline(inc));
  EXPECT_ERROR(kInvalidState, e.set_buffer(0, in));
  EXPECT_OK(e.wait_until_completed());
}

// A failing command buffer; edges 5 and 40.
TEST_F(Seed004, AFailureOfTheGpuComesOutAtEveryWait) {
  LogLines quiet;
  auto e = encoder(), async = encoder();
  EXPECT_OK(inc_one(e, in, out));
  metal::inject_fault(device.metal_device(), metal::Fault::kRun);
  EXPECT_ERROR(kExecutionFailed, e.commit_and_wait());
  EXPECT_ERROR(kExecutionFailed, e.wait_until_completed());
  EXPECT_EQ(device.counters().syncs, 1u);
  EXPECT_OK(inc_one(async, in, out));
  metal::inject_fault(device.metal_device(), metal::Fault::kRun);
  EXPECT_OK(async.commit_labeled("broken"));
  auto status = async.wait_until_completed();
  EXPECT_ERROR(kExecutionFailed, status);
  EXPECT_THAT(status.error().message(), testing::HasSubstr("broken"));
}

// Counters.

TEST_F(Seed004, CountersCountAndReset) {
  reset_process_counters();
  const Counters before = device.counters();
  auto e = encoder();
  EXPECT_OK(inc_one(e, in, out));
  EXPECT_OK(e.memory_barrier());
  EXPECT_OK(inc_one(e, out, in));
  EXPECT_OK(e.commit_and_wait());
  const Counters moved = device.counters() - before, process = process_counters();
  for (const Counters& one : {moved, process}) {
    EXPECT_EQ(one.command_buffers, 1u);
    EXPECT_EQ(one.dispatches, 2u);
    EXPECT_EQ(one.barriers, 1u);
    EXPECT_EQ(one.barrier_ns, 0u) << "only with the gate";
    EXPECT_EQ(one.auto_barriers, 0u);
    EXPECT_EQ(one.auto_barrier_concurrent, 0u);
    EXPECT_EQ(one.syncs, 1u);
  }
  const uint64_t members = process_counters().residency_allocations;
  EXPECT_GT(members, 0u);
  reset_process_counters();
  const Counters after = process_counters();
  EXPECT_EQ(after.command_buffers + after.dispatches + after.barriers + after.syncs, 0u);
  EXPECT_EQ(after.residency_allocations, members) << "not one of the seven";
}

// Destruction.

TEST_F(Seed004, DroppedWorkDoesNotRun) {
  {
    auto e = encoder();
    EXPECT_OK(inc_one(e, in, out));
  }
  auto e = encoder();
  EXPECT_EQ(result(e, out), std::vector<float>(8, 0.0f));
}

TEST_F(Seed004, AnEncoderMovesWithItsWork) {
  auto e = encoder();
  EXPECT_OK(inc_one(e, in, out));
  CommandEncoder moved = std::move(e);
  EXPECT_OK(moved.memory_barrier());
  EXPECT_OK(inc_one(moved, out, in));
  EXPECT_EQ(result(moved, in)[0], 3.0f);
  auto other = encoder();
  EXPECT_OK(inc_one(other, in, out));
  other = encoder();
  EXPECT_EQ(result(other, out), plus_one) << "the assigned-over work was dropped";
  EXPECT_EQ(device.counters().command_buffers, 3u);
}

}  // namespace
}  // namespace mlxn::test
