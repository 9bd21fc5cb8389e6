// Replay plans: what is left out because the pass holds it already, and recorded barriers.
#include "mlxn/core/graph/replay.h"

#include "mlxn/core/encode/session.h"
#include "mlxn/core/graph/graph.h"
#include "mlxn/core/graph/graph_session.h"
#include "mlxn/core/profile/profile.h"
#include "mlxn/ops/op_kind.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class Replay : public testing::Test {
 protected:
  template <class Encode>
  static Graph record(const Device& device, Encode encode) {
    GraphSession session = *device.graph_session({.record = true});
    encode(session.encoder());
    return *session.take_graph();
  }
  static void run(const Graph& graph, const Device& device) {
    CommandEncoder encoder = *device.command_encoder();
    EXPECT_OK(graph.encode(encoder));
    EXPECT_OK(encoder.commit_and_wait());
  }
  static std::vector<std::string> kernels(const Graph& graph) {
    std::vector<std::string> out;
    for (const CapturedNode& node : graph.nodes()) {
      out.push_back(node.is_barrier ? "barrier" : node.pipeline.name());
    }
    return out;
  }

  Device device = make_device();
  Buffer a = floats(device, {1, 2, 3, 4}), b = zeros(device, 4), c = zeros(device, 4),
         d = floats(device, {5, 6, 7, 8}), e = zeros(device, 4);
};

// A recorded barrier is an order the caller asks for, whatever the accesses say.
TEST_F(Replay, RecordedBarriersSurviveAReplayIntoACapture) {
  const auto plan = *record(device, [&](ComputeEncoder& encoder) {
                       EXPECT_OK(inc_one(encoder, a, b));
                       EXPECT_OK(encoder.memory_barrier());
                       EXPECT_OK(add(encoder, d, d, e));
                       EXPECT_OK(inc_one(encoder, e, c));  // a barrier that is derived
                       EXPECT_OK(encoder.memory_barrier());
                     }).prepare(device);
  EXPECT_EQ(plan->barrier_count(), 3u);
  const Graph again =
      record(device, [&](ComputeEncoder& encoder) { EXPECT_OK(encoder.replay(plan)); });
  EXPECT_EQ(kernels(again),
            (std::vector<std::string>{"inc_one", "barrier", "add", "inc_one", "barrier"}));
  EXPECT_EQ((*again.prepare(device))->barrier_count(), 3u);
}

TEST_F(Replay, ABarrierAtTheEndOrdersWhatComesBehind) {
  for (bool automatic : {false, true}) {
    RuntimeOptions options;
    options.auto_barrier = automatic;
    const Device other = make_device(options);
    const Buffer x = floats(other, {1, 2, 3, 4}), y = zeros(other, 4), z = zeros(other, 4);
    const Graph graph = record(other, [&](ComputeEncoder& encoder) {
      EXPECT_OK(inc_one(encoder, x, y));
      EXPECT_OK(encoder.memory_barrier());
    });
    CommandEncoder encoder = *other.command_encoder();
    EXPECT_EQ(*graph.encode(encoder), 1u);
    EXPECT_OK(inc_one(encoder, y, z));
    EXPECT_OK(encoder.commit_and_wait());
    EXPECT_EQ(other.counters().barriers, 1u) << "the recorded one and no other";
    EXPECT_EQ(read(z), (std::vector<float>{3, 4, 5, 6}));
  }
}

// Barriers between one replay and what is in the pass before and behind it.
TEST_F(Replay, IsOrderedAgainstTheRestOfThePass) {
  const auto plan = *record(device, [&](ComputeEncoder& encoder) {
                       EXPECT_OK(inc_one(encoder, a, b));
                     }).prepare(device);
  CommandEncoder encoder = *device.command_encoder();
  const auto barriers = [&] { return device.counters().barriers; };
  EXPECT_OK(encoder.replay(plan));
  EXPECT_EQ(barriers(), 0u);
  EXPECT_OK(encoder.replay(plan));
  EXPECT_EQ(barriers(), 1u) << "the second one behind the first";
  EXPECT_OK(encoder.memory_barrier());
  EXPECT_OK(encoder.replay(plan));
  EXPECT_EQ(barriers(), 2u) << "there was one";
  EXPECT_OK(encoder.commit_and_wait());
}

TEST_F(Replay, TellsTheTrackerWhatIsBehindItsLastBarrier) {
  const Device automatic = device_with(&RuntimeOptions::auto_barrier);
  const Buffer x = zeros(automatic, 4), y = zeros(automatic, 4), z = zeros(automatic, 4),
               other = zeros(automatic, 4), last = zeros(automatic, 4);
  const auto plan = *record(automatic, [&](ComputeEncoder& encoder) {
                       EXPECT_OK(inc_one(encoder, x, y));
                       EXPECT_OK(inc_one(encoder, y, z));
                     }).prepare(automatic);
  CommandEncoder encoder = *automatic.command_encoder();
  EXPECT_OK(encoder.replay(plan));
  EXPECT_OK(inc_one(encoder, other, x));
  EXPECT_EQ(automatic.counters().auto_barriers, 0u) << "the plan's own barrier is in between";
  EXPECT_OK(inc_one(encoder, z, last));
  EXPECT_EQ(automatic.counters().auto_barriers, 1u);
  EXPECT_OK(encoder.commit_and_wait());
}

TEST_F(Replay, BarriersAreNoMoreThanNeeded) {
  const Graph graph = record(device, [&](ComputeEncoder& encoder) {
    EXPECT_OK(inc_one(encoder, a, b));
    EXPECT_OK(encoder.memory_barrier());
    EXPECT_OK(inc_one(encoder, b, c));
    EXPECT_OK(inc_one(encoder, b, e));
    EXPECT_OK(inc_one(encoder, c, d));
    EXPECT_OK(inc_one(encoder, e, b));
  });
  EXPECT_EQ((*graph.prepare(device))->barrier_count(), 2u);
}

// The same memory at other offsets, and a slot that held bytes in between.
TEST_F(Replay, BindingsThatChangeAreSetAgain) {
  const Buffer wide = floats(device, {1, 2, 3, 4, 5, 6, 7, 8});
  const Buffer low = *wide.slice_view(0, 4), high = *wide.slice_view(16, 4);
  run(record(device,
             [&](ComputeEncoder& encoder) {
               EXPECT_OK(inc_one(encoder, low, b));
               EXPECT_OK(inc_one(encoder, high, c));
               EXPECT_OK(inc_one(encoder, low, e));
             }),
      device);
  EXPECT_EQ(read(b), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(read(c), (std::vector<float>{6, 7, 8, 9}));
  EXPECT_EQ(read(e), (std::vector<float>{2, 3, 4, 5}));
  const Buffer ten = floats(device, {10});
  const float two = 2;
  const Pipeline scale = kernel(device, "scale");
  const auto scaled = [&](ComputeEncoder& encoder, const KernelArg& factor, const Buffer& out) {
    return encoder.encode_with_args(scale, {{0, a}, {1, out}, {2, factor}}, width(4), width(4));
  };
  run(record(device,
             [&](ComputeEncoder& encoder) {
               EXPECT_OK(scaled(encoder, ten, b));
               EXPECT_OK(scaled(encoder, as_bytes(two), c));
               EXPECT_OK(scaled(encoder, ten, e));
             }),
      device);
  EXPECT_EQ(read(b), (std::vector<float>{10, 20, 30, 40}));
  EXPECT_EQ(read(c), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(read(e), (std::vector<float>{10, 20, 30, 40}));
}

// Two parts, one behind the other: the first must be long enough not to reach into the second.
TEST_F(Replay, ThreadgroupMemoryOfAnotherSizeIsSetAgain) {
  KernelRegistry registry;
  registry.register_library("replay_test", R"(
#include <metal_stdlib>
using namespace metal;
kernel void turn(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                 threadgroup float* first [[threadgroup(0)]],
                 threadgroup float* second [[threadgroup(1)]],
                 uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
  first[t] = in[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  second[t] = -in[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[t] = 2.0f * first[n - 1 - t] + second[n - 1 - t];
}
)");
  const Pipeline turn = *registry.get_pipeline("turn", device);
  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Buffer many = floats(device, values), turned = zeros(device, values.size());
  const auto encode = [&](ComputeEncoder& encoder, const Buffer& in, const Buffer& out) {
    const uint64_t count = out.element_count();
    return encoder.encode_threadgroups_with_shared(
        turn, {{0, &in}, {1, &out}}, {{0, 4 * count}, {1, 256}}, width(1), width(count));
  };
  run(record(device,
             [&](ComputeEncoder& encoder) {
               EXPECT_OK(encode(encoder, a, b));
               EXPECT_OK(encode(encoder, many, turned));
             }),
      device);
  EXPECT_EQ(read(b), (std::vector<float>{4, 3, 2, 1}));
  std::ranges::reverse(values);
  EXPECT_EQ(read(turned), values);
}

TEST_F(Replay, PatchedBytesReachACapture) {
  const float two = 2, five = 5;
  const auto plan =
      *record(device, [&](ComputeEncoder& encoder) {
         EXPECT_OK(encoder.encode_with_args(
             kernel(device, "scale"), {{0, a}, {1, b}, {2, as_bytes(two)}}, width(4), width(4)));
       }).prepare(device);
  EXPECT_ERROR(kInvalidArgument, plan->set_bytes(0, 1, {})) << "a buffer";
  EXPECT_OK(plan->set_bytes(0, 2, as_bytes(five)));
  run(record(device, [&](ComputeEncoder& encoder) { EXPECT_OK(encoder.replay(plan)); }), device);
  EXPECT_EQ(read(b), (std::vector<float>{5, 10, 15, 20}));
}

// The first time a plan is state changes, then an indirect command buffer.
TEST_F(Replay, EveryReplayGivesTheSame) {
  const float two = 2;
  const auto plan =
      *record(device, [&](ComputeEncoder& encoder) {
         EXPECT_OK(inc_one(encoder, a, b));
         EXPECT_OK(encoder.encode_threadgroups_with_args(
             kernel(device, "scale"), {{0, b}, {1, c}, {2, as_bytes(two)}}, width(2), width(2)));
         EXPECT_OK(encoder.memory_barrier());
         EXPECT_OK(add(encoder, c, d, e));
         EXPECT_OK(encoder.memory_barrier());
       }).prepare(device);
  ASSERT_EQ(plan->barrier_count(), 3u);
  for (int i = 0; i < 4; ++i) {
    for (Buffer one : {b, c, e}) std::ranges::fill(*one.as_mut_slice<float>(), 0.0f);
    const uint64_t before = device.counters().barriers;
    CommandEncoder encoder = *device.command_encoder();
    EXPECT_OK(encoder.replay(plan));
    EXPECT_EQ(device.counters().barriers - before, 3u) << i;
    EXPECT_OK(encoder.commit_and_wait());
    EXPECT_EQ(read(e), (std::vector<float>{9, 12, 15, 18})) << i;
  }
}

// A patch never reaches what was encoded before it, run or not.
TEST_F(Replay, APatchLeavesSubmissionsInFlightAlone) {
  const float zero = 0;
  constexpr int kPatches = 6;
  std::vector<Buffer> kept;
  const auto plan =
      *record(device, [&](ComputeEncoder& encoder) {
         EXPECT_OK(encoder.encode_with_args(
             kernel(device, "scale"), {{0, a}, {1, b}, {2, as_bytes(zero)}}, width(4), width(4)));
       }).prepare(device);
  EncoderSession session = *device.encoder_session();
  const StageFence gate = {NS::TransferPtr(device.metal_device()->newSharedEvent()), 1};
  EXPECT_OK(session.wait_for(gate));
  for (int i = 0; i < kPatches; ++i) {  // all in one command buffer, which waits
    const auto factor = static_cast<float>(i);
    EXPECT_OK(plan->set_bytes(0, 2, as_bytes(factor)));
    EXPECT_OK(session.encoder().replay(plan));
    EXPECT_OK(session.encoder().memory_barrier());
    kept.push_back(zeros(device, 4));
    EXPECT_OK(inc_one(session.encoder(), b, kept.back()));
    EXPECT_OK(session.encoder().memory_barrier());
  }
  EXPECT_OK(session.commit_stage());
  gate.event->setSignaledValue(1);
  EXPECT_OK(session.wait_for_all());
  for (int i = 0; i < kPatches; ++i) {
    const auto factor = static_cast<float>(i);
    EXPECT_EQ(read(kept[i]),
              (std::vector<float>{factor + 1, 2 * factor + 1, 3 * factor + 1, 4 * factor + 1}));
  }
}

TEST_F(Replay, APatchOnOneQueueLeavesTheOtherAlone) {
  const float one = 1, three = 3;
  const auto plan =
      *record(device, [&](ComputeEncoder& encoder) {
         EXPECT_OK(encoder.encode_with_args(
             kernel(device, "scale"), {{0, a}, {1, b}, {2, as_bytes(one)}}, width(4), width(4)));
       }).prepare(device);
  CommandEncoder first = *device.command_encoder();
  EXPECT_OK(first.replay(plan));
  EXPECT_OK(first.commit_and_wait());
  const Device queue = *device.with_new_queue();
  EncoderSession waiting = *queue.encoder_session();
  const StageFence gate = {NS::TransferPtr(device.metal_device()->newSharedEvent()), 1};
  EXPECT_OK(waiting.wait_for(gate));
  EXPECT_OK(waiting.encoder().replay(plan));
  EXPECT_OK(waiting.commit_stage());
  EXPECT_OK(plan->set_bytes(0, 2, as_bytes(three)));
  CommandEncoder other = *device.command_encoder();
  EXPECT_OK(other.replay(plan));
  EXPECT_OK(other.commit_and_wait());
  EXPECT_EQ(read(b), (std::vector<float>{3, 6, 9, 12}));
  gate.event->setSignaledValue(1);
  EXPECT_OK(waiting.wait_for_all());
  EXPECT_EQ(read(b), (std::vector<float>{1, 2, 3, 4})) << "the bytes it was encoded with";
}

// Pipelines from elsewhere may not be for indirect command buffers.
TEST_F(Replay, OtherPipelinesStayStateChanges) {
  NS::Error* error = nullptr;
  auto* pool = NS::AutoreleasePool::alloc()->init();
  const char* text =
      "kernel void one(device float* out [[buffer(0)]], constant float& by [[buffer(1)]]) {"
      " *out += by; }";
  auto library = NS::TransferPtr(
      device.metal_device()->newLibrary(NS::String::string(text, NS::UTF8StringEncoding),
                                        static_cast<const MTL::CompileOptions*>(nullptr), &error));
  auto function =
      NS::TransferPtr(library->newFunction(NS::String::string("one", NS::UTF8StringEncoding)));
  auto state =
      NS::TransferPtr(device.metal_device()->newComputePipelineState(function.get(), &error));
  pool->release();
  ASSERT_FALSE(state->supportIndirectCommandBuffers());
  const Pipeline wrapped = *Pipeline::wrap(state.get(), "one");
  const float two = 2;
  const auto plan = *record(device, [&](ComputeEncoder& encoder) {
                       EXPECT_OK(encoder.encode_with_args(wrapped, {{0, b}, {1, as_bytes(two)}},
                                                          width(1), width(1)));
                     }).prepare(device);
  CommandEncoder encoder = *device.command_encoder();
  for (int i = 0; i < 3; ++i) EXPECT_OK(encoder.replay(plan));
  EXPECT_OK(encoder.commit_and_wait());
  EXPECT_EQ(read(b)[0], 6);
}

// The submission has the plan, and with it everything, until the GPU is done.
TEST_F(Replay, ThePlanLivesAsLongAsItsWork) {
  const Device checked = device_with(&RuntimeOptions::check_host_access);
  const Buffer x = zeros(checked, 4), y = zeros(checked, 4);
  auto plan = *record(checked, [&](ComputeEncoder& encoder) {
                 EXPECT_OK(inc_one(encoder, x, y));
               }).prepare(checked);
  const std::weak_ptr<ReplayPlan> watched = plan;
  EncoderSession session = *checked.encoder_session();
  const StageFence gate = {NS::TransferPtr(checked.metal_device()->newSharedEvent()), 1};
  EXPECT_OK(session.wait_for(gate));
  EXPECT_OK(session.encoder().replay(std::move(plan)));
  plan.reset();
  EXPECT_OK(session.commit_stage());
  EXPECT_FALSE(watched.expired());
  EXPECT_ERROR(kInvalidState, y.as_slice<float>()) << "the GPU has yet to write it";
  gate.event->setSignaledValue(1);
  EXPECT_OK(session.wait_for_all());
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(read(y), std::vector<float>(4, 1.0f));
}

TEST_F(Replay, IsInTheProfile) {
  for (bool dispatches : {false, true}) {
    RuntimeOptions options;
    options.profile_command_buffers = true;
    options.profile_dispatches = dispatches;
    const Device profiled = make_device(options);
    const Buffer x = zeros(profiled, 4), y = zeros(profiled, 4), z = zeros(profiled, 4);
    run(record(profiled,
               [&](ComputeEncoder& encoder) {
                 encoder.set_op_kind(OpKind::kElemAdd);
                 EXPECT_OK(inc_one(encoder, x, y));
                 EXPECT_OK(inc_one(encoder, y, z));
               }),
        profiled);
    EXPECT_EQ(read(z), std::vector<float>(4, 2.0f));
    const CommandBufferEntry entry = profiled.profile().command_buffers().at(0);
    EXPECT_EQ(entry.dispatches, 2u);
    EXPECT_EQ(entry.barriers, 1u);
    if (!dispatches) continue;
    const auto entries = profiled.profile().dump_dispatches().at(0).second;
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].barrier_reason, "");
    EXPECT_EQ(entries[1].barrier_reason, "RAW");
    EXPECT_EQ(entries[0].op_kind, to_string(OpKind::kElemAdd));
    EXPECT_EQ(entries[1].op_kind, to_string(OpKind::kOther));
  }
}

}  // namespace
}  // namespace mlxn::test
