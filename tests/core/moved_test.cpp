// Every public function of an object that was moved from fails with kInvalidState or does nothing;
// values are empty.
#include <unistd.h>

#include <filesystem>

#include "mlxn/base/strings.h"
#include "mlxn/core/encode/session.h"
#include "mlxn/core/graph/graph_session.h"
#include "mlxn/core/memory/pool.h"
#include "mlxn/core/profile/gpu_trace.h"
#include "mlxn/ops/op_kind.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

// The object that was moved to goes at once, and the device with it: what is left must not need it.
template <class T>
T emptied(Result<T> made) {
  T object = *std::move(made);
  {
    const T taken = std::move(object);
  }
  return object;
}

struct Things {
  Device device = make_device();
  Buffer x = floats(device, {1, 2, 3, 4}), y = zeros(device, 4);
  Pipeline inc = kernel(device, "inc_one");
  std::shared_ptr<ReplayPlan> plan = *ReplayPlan::create(device, {});
};

void walk(ComputeEncoder& e, const Things& t) {
  const MTL::Size n = width(4);
  using Pairs = std::vector<ComputeEncoder::BufferBinding>;
  const Pairs pairs = {{0, &t.x}, {1, &t.y}};
  const std::vector<Binding> args = {{0, t.x}, {1, t.y}};
  EXPECT_ERROR(kInvalidState, e.dispatch({.pipeline = t.inc, .bindings = args}));
  EXPECT_ERROR(kInvalidState, e.encode(t.inc, pairs, n, n));
  EXPECT_ERROR(kInvalidState, e.encode_threadgroups(t.inc, pairs, n, n));
  EXPECT_ERROR(kInvalidState, e.encode_threadgroups_with_shared(t.inc, pairs, {}, n, n));
  EXPECT_ERROR(kInvalidState, e.encode_with_args(t.inc, args, n, n));
  EXPECT_ERROR(kInvalidState, e.encode_threadgroups_with_args(t.inc, args, n, n));
  EXPECT_ERROR(kInvalidState, e.encode_threadgroups_with_args_and_shared(t.inc, args, {}, n, n));
  EXPECT_ERROR(kInvalidState, e.dispatch_tracked_threadgroups(t.inc, pairs, {}, {}, n, n));
  EXPECT_ERROR(kInvalidState,
               e.dispatch_tracked_threadgroups_with_shared(t.inc, pairs, {}, {}, {}, n, n));
  EXPECT_ERROR(kInvalidState, e.dispatch_tracked_threadgroups_with_args(t.inc, args, {}, {}, n, n));
  EXPECT_ERROR(kInvalidState,
               e.dispatch_tracked_threadgroups_with_args_and_shared(t.inc, args, {}, {}, {}, n, n));
  EXPECT_ERROR(kInvalidState, e.dispatch_tracked_threads_with_args(t.inc, args, {}, {}, n, n));
  EXPECT_ERROR(kInvalidState, e.set_pipeline(t.inc));
  EXPECT_ERROR(kInvalidState, e.set_buffer(0, t.x));
  EXPECT_ERROR(kInvalidState, e.dispatch_threads(n, n));
  e.set_op_kind(OpKind::kSdpa);
  e.set_pending_buffer_ranges({}, {});
  EXPECT_ERROR(kInvalidState, e.memory_barrier());
  EXPECT_ERROR(kInvalidState, e.force_barrier_and_reset_tracker());
  EXPECT_ERROR(kInvalidState, e.barrier_between({&t.x}, {&t.y}));
  EXPECT_ERROR(kInvalidState, e.add_to_tracker({&t.x}, {&t.y}));
  EXPECT_EQ(e.mem_ranges_len(), 0u);
  EXPECT_TRUE(e.mem_ranges().is_empty());
  e.start_capture();
  EXPECT_FALSE(e.is_capturing());
  EXPECT_ERROR(kInvalidState, e.encode(t.inc, pairs, n, n));
  e.annotate_last_dispatch_if_missing({}, {});
  EXPECT_FALSE(e.take_capture());
  EXPECT_ERROR(kInvalidState, e.replay_dispatch(CapturedNode()));
  EXPECT_ERROR(kInvalidState, e.replay(t.plan));
  EXPECT_EQ(e.metal_command_buffer(), nullptr);
  EXPECT_EQ(e.metal_pass(), nullptr);
  EXPECT_NE(e.device().id(), 0u) << "a device is never empty";
}

TEST(MovedFrom, CommandEncoder) {
  const Things t;
  auto e = emptied(make_device().command_encoder());
  walk(e, t);
  EXPECT_ERROR(kInvalidState, e.commit());
  EXPECT_ERROR(kInvalidState, e.commit_labeled("label"));
  EXPECT_ERROR(kInvalidState, e.wait_until_completed());
  EXPECT_ERROR(kInvalidState, e.commit_and_wait());
  EXPECT_ERROR(kInvalidState, e.commit_and_wait_labeled("label"));
  EXPECT_ERROR(kInvalidState, e.commit_wait_with_gpu_time());
  EXPECT_EQ(e.device().counters().syncs, 0u) << "no blocking commit was begun";
  EXPECT_EQ(e.gpu_time_ns(), 0u);
}

TEST(MovedFrom, EncoderSessionInEveryState) {
  const Things t;
  for (const char* state : {"open", "drained", "fenced"}) {
    SCOPED_TRACE(state);
    const Device device = make_device();
    EncoderSession session = *device.encoder_session();
    if (std::string(state) == "drained") EXPECT_OK(session.commit_stage());
    if (std::string(state) == "fenced") EXPECT_OK(session.fence_stage());
    {
      const EncoderSession taken = std::move(session);
    }
    session.begin_stage("label");
    walk(session.encoder(), t);
    EXPECT_ERROR(kInvalidState, session.commit_stage());
    EXPECT_ERROR(kInvalidState, session.commit_and_wait());
    EXPECT_ERROR(kInvalidState, session.fence_stage());
    EXPECT_ERROR(kInvalidState, session.fence_stage("label"));
    EXPECT_ERROR(kInvalidState, session.reset_for_next_stage());
    EXPECT_ERROR(kInvalidState, session.wait_for_fence(1));
    EXPECT_ERROR(kInvalidState, session.wait_for_all());
    EXPECT_ERROR(kInvalidState, session.wait_for({}));
    EXPECT_FALSE(session.fence().event);
    EXPECT_FALSE(session.add_to_residency_set(t.x));
    EXPECT_FALSE(session.remove_from_residency_set(t.x));
    EXPECT_FALSE(session.has_event());
    EXPECT_EQ(session.metal_command_buffer(), nullptr);
    EXPECT_LE(session.wait_value(), session.fence_value());
    EXPECT_EQ(session.wait_count(), 0u);
  }
}

TEST(MovedFrom, GraphSession) {
  const Things t;
  for (const bool record : {false, true}) {
    GraphSession session = emptied(make_device().graph_session({.record = record}));
    walk(session.encoder(), t);
    EXPECT_FALSE(session.is_recording());
    EXPECT_ERROR(kInvalidState, session.barrier());
    EXPECT_ERROR(kInvalidState, session.barrier_between({&t.x}, {&t.y}));
    EXPECT_ERROR(kInvalidState, session.track_dispatch({&t.x}, {&t.y}));
    session.mark_temporary(t.x);
    EXPECT_EQ(session.barrier_count(), 0u);
    EXPECT_EQ(session.group_stats().dispatches, 0u);
    EXPECT_NE(session.dump_group_stats(), "");
    EXPECT_FALSE(session.take_graph());
    EXPECT_ERROR(kInvalidState, session.wait_until_completed());
    EXPECT_ERROR(kInvalidState, session.finish());
    EXPECT_ERROR(kInvalidState, session.finish());
  }
}

TEST(MovedFrom, BufferPool) {
  const Things t;
  BufferPool pool(t.device);
  const Buffer mine = *pool.alloc(Dtype::kF32, {4});
  {
    const BufferPool taken = std::move(pool);
  }
  EXPECT_ERROR(kInvalidState, pool.alloc(Dtype::kF32, {4}));
  EXPECT_ERROR(kInvalidState, pool.alloc_batch({}));
  EXPECT_ERROR(kInvalidState, pool.release(mine));
  EXPECT_ERROR(kInvalidState, pool.register_existing(t.x));
  pool.reset();
  pool.clear();
  EXPECT_EQ(pool.stats().misses, 0u);
}

TEST(MovedFrom, ADeviceStays) {
  Device device = make_device();
  const Device moved = std::move(device);
  EXPECT_EQ(device.id(), moved.id());
  EXPECT_OK(device.command_encoder());
  EXPECT_OK(device.synchronize());
}

// Values are empty then, and refused wherever they are used.
TEST(MovedFrom, ABufferIsEmpty) {
  const Things t;
  const Device& device = t.device;
  Buffer buffer = zeros(device, 4);
  const Buffer taken = std::move(buffer);
  EXPECT_FALSE(buffer);
  EXPECT_ERROR(kInvalidArgument, buffer.as_slice<float>());
  EXPECT_ERROR(kInvalidArgument, buffer.as_mut_slice<float>());
  EXPECT_ERROR(kInvalidArgument, buffer.slice_view(0, 1));
  EXPECT_ERROR(kInvalidArgument, buffer.reshape({2, 2}));
  EXPECT_EQ(buffer.contents(), nullptr);
  EXPECT_EQ(buffer.metal_buffer(), nullptr);
  EXPECT_EQ(buffer.storage(), nullptr);
  EXPECT_EQ(buffer.storage_mode(), StorageMode::kShared);
  EXPECT_EQ(buffer.allocation_length(), 0u);
  EXPECT_NE(buffer.to_string(), "");
  EXPECT_ERROR(kInvalidArgument, device.upload({}, buffer));
  EXPECT_ERROR(kInvalidArgument, device.download(buffer, {}));
  auto encoder = *device.command_encoder();
  EXPECT_ERROR(kInvalidArgument, inc_one(encoder, buffer, t.y));
  EXPECT_ERROR(kInvalidArgument, encoder.barrier_between({&buffer}, {}));
  EXPECT_ERROR(kInvalidArgument, encoder.add_to_tracker({}, {&buffer}));
  EXPECT_ERROR(kInvalidArgument, BufferPool(device).register_existing(buffer));
  auto session = *device.encoder_session();
  EXPECT_FALSE(session.add_to_residency_set(buffer));
  EXPECT_FALSE(session.remove_from_residency_set(buffer));
}

TEST(MovedFrom, APipelineIsEmpty) {
  const Things t;
  Pipeline pipeline = t.inc;
  const Pipeline taken = std::move(pipeline);
  EXPECT_FALSE(pipeline);
  EXPECT_EQ(pipeline, Pipeline());
  EXPECT_EQ(pipeline.identity(), KernelIdentity());
  EXPECT_EQ(pipeline.name(), "");
  EXPECT_EQ(pipeline.key(), "");
  EXPECT_FALSE(pipeline.access().known);
  EXPECT_EQ(pipeline.max_threads(), 0u);
  EXPECT_EQ(pipeline.static_threadgroup_bytes(), 0u);
  EXPECT_EQ(pipeline.threadgroup_slots(), 0u);
  EXPECT_EQ(pipeline.metal(), nullptr);
  EXPECT_EQ(pipeline.argument_name(1), "argument 1");
  EXPECT_EQ(pipeline.argument_bytes(1), 0u);
  EXPECT_EQ(pipeline.state(), nullptr);
  auto encoder = *t.device.command_encoder();
  EXPECT_ERROR(kInvalidArgument, encoder.set_pipeline(pipeline));
  EXPECT_ERROR(kInvalidArgument, encoder.dispatch({.pipeline = pipeline}));
}

TEST(MovedFrom, AGraphIsEmpty) {
  const Things t;
  auto session = *t.device.graph_session({.record = true});
  EXPECT_OK(inc_one(session.encoder(), t.x, t.y));
  Graph graph = *session.take_graph();
  const Graph taken = std::move(graph);
  EXPECT_EQ(taken.len(), 1u);
  EXPECT_TRUE(graph.is_empty());
  EXPECT_EQ(graph.dispatch_count() + graph.barrier_count() + graph.unannotated_dispatch_count(),
            0u);
  graph.mark_temporary(t.x);
  EXPECT_OK(graph.fuse({}, t.device));
  EXPECT_EQ(graph.reorder().moved, 0u);
  EXPECT_TRUE(graph.split().first.is_empty());
  EXPECT_OK(graph.prepare(t.device));
  auto encoder = *t.device.command_encoder();
  EXPECT_EQ(*graph.encode(encoder), 0u);
  EXPECT_TRUE(std::move(graph).into_nodes().empty());
}

TEST(MovedFrom, AGpuTraceEndsNothing) {
  const std::string path = str(testing::TempDir(), "/mlxn-moved-", getpid(), ".gputrace");
  std::filesystem::remove_all(path);
  const Device device = make_device();
  auto trace = GpuTrace::start(device, path);
  ASSERT_TRUE(trace) << trace.error().to_string();
  const GpuTrace taken = std::move(*trace);
  trace->end();
  EXPECT_EQ(trace->path(), "");
  EXPECT_ERROR(kInvalidState, GpuTrace::start(device, path)) << "the other one still captures";
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace mlxn::test
