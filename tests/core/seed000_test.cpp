// Seed 000: timestamps around single dispatches, and what happens where the device has none.
#include "mlxn/core/encode/session.h"
#include "mlxn/ops/op_kind.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

const MetalSpec kUnsupported = {.dispatch_sampling = false};

class Seed000 : public testing::Test {
 protected:
  static Device profiled(const MetalSpec& spec = {}, bool command_buffers = true) {
    RuntimeOptions options;
    options.profile_dispatches = true;
    options.profile_command_buffers = command_buffers;
    return make_device(options, spec);
  }
  static CommandEncoder encoder(const Device& device) { return *device.command_encoder(); }

  // out = in + 1 over `count` floats, by one of the production forms.
  static void dispatch(ComputeEncoder& encoder, const Buffer& in, const Buffer& out) {
    EXPECT_OK(encoder.encode_threadgroups_with_args(
        kernel(encoder.device(), "inc_one"), {{0, in}, {1, out}},
        width((in.element_count() + 31) / 32), width(32)));
  }
  static void run_one(const Device& device, const std::string& label,
                      OpKind kind = OpKind::kOther) {
    const Buffer in = zeros(device, 64), out = zeros(device, 64);
    auto encoder = Seed000::encoder(device);
    encoder.set_op_kind(kind);
    dispatch(encoder, in, out);
    EXPECT_OK(encoder.commit_and_wait_labeled(label));
  }
  static const std::vector<DispatchEntry>* group(
      const std::vector<std::pair<std::string, std::vector<DispatchEntry>>>& dump,
      const std::string& label) {
    for (const auto& [name, entries] : dump) {
      if (name == label) return &entries;
    }
    return nullptr;
  }
  static const ProfileEntry* entry(const std::vector<std::pair<std::string, ProfileEntry>>& dump,
                                   const std::string& label) {
    for (const auto& [name, entry] : dump) {
      if (name == label) return &entry;
    }
    return nullptr;
  }
};

void encode_profiled_pair(const Device& device, const Pipeline& inc_one, const Buffer& in,
                          const Buffer& out) {
  auto encoder = *device.command_encoder();
  for (int i = 0; i < 2; ++i) {
    if (i == 1) EXPECT_OK(encoder.memory_barrier());
    EXPECT_OK(
        encoder.encode_threadgroups_with_args(inc_one, {{0, in}, {1, out}}, width(8), width(32)));
  }
  EXPECT_OK(encoder.commit_and_wait_labeled("test.profile.cb"));
}

// Without a barrier a sample says nothing of the dispatch beside it.
TEST_F(Seed000, SamplesStandBehindBarriers) {
  const Device device = profiled({.executor = "null"});
  const Buffer in = zeros(device, 64), out = zeros(device, 64), other = zeros(device, 64);
  (void)metal::take_recorded_commands(device.metal_device());
  auto encoder = Seed000::encoder(device);
  dispatch(encoder, in, out);
  dispatch(encoder, in, other);
  EXPECT_OK(encoder.commit_and_wait_labeled("samples"));
  const auto lines = metal::take_recorded_commands(device.metal_device());
  std::string kinds;
  for (const std::string& line : lines) kinds += line.substr(0, 1);
  EXPECT_EQ(kinds, "ltdbtbtdbt") << testing::PrintToString(lines);
}

TEST_F(Seed000, PerDispatchSamplingRecordsTimes) {
  const Device device = profiled();
  std::vector<float> values(256);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Buffer in = floats(device, values), out = zeros(device, 256);
  encode_profiled_pair(device, kernel(device, "inc_one"), in, out);
  EXPECT_EQ(read(out)[255], 256.0f);

  const auto dispatches = device.profile().dump_dispatches();
  const auto* entries = group(dispatches, "test.profile.cb");
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2u);
  uint64_t sum = 0;
  for (size_t i = 0; i < 2; ++i) {
    const DispatchEntry& one = (*entries)[i];
    EXPECT_EQ(one.dispatch_index, i) << "in order of encoding";
    EXPECT_GE(one.end_gpu_ns, one.start_gpu_ns);
    EXPECT_GT(one.start_gpu_ns, 0u);
    EXPECT_EQ(one.gpu_ns, one.end_gpu_ns - one.start_gpu_ns);
    EXPECT_EQ(one.op_kind, "Other");
    sum += one.gpu_ns;
  }
  EXPECT_GE((*entries)[1].start_gpu_ns, (*entries)[0].end_gpu_ns) << "sampling makes it serial";
  // Edge 63: the command buffer's time holds those of its dispatches, with 1 ms of slack.
  const auto table = device.profile().dump();
  ASSERT_TRUE(entry(table, "test.profile.cb"));
  EXPECT_GE(entry(table, "test.profile.cb")->total_ns + 1'000'000, sum);
  device.profile().reset();
  EXPECT_TRUE(device.profile().dump_dispatches().empty());
}

TEST_F(Seed000, UnsupportedDevicesKeepTheTableOfCommandBuffers) {
  LogLines lines;
  const Device device = profiled(kUnsupported);
  const Buffer in = zeros(device, 256), out = zeros(device, 256);
  encode_profiled_pair(device, kernel(device, "inc_one"), in, out);
  encode_profiled_pair(device, kernel(device, "inc_one"), in, out);
  EXPECT_EQ(read(out)[0], 1.0f);
  EXPECT_TRUE(device.profile().dump_dispatches().empty());
  const auto table = device.profile().dump();
  ASSERT_TRUE(entry(table, "test.profile.cb"));
  EXPECT_EQ(entry(table, "test.profile.cb")->count, 2u);
  const auto told = lines.take();
  ASSERT_EQ(told.size(), 1u) << "one warning for the device";
  EXPECT_THAT(told[0], testing::HasSubstr("device '" + device.name() + "' cannot sample"));
  EXPECT_THAT(told[0], testing::HasSubstr("dispatch boundaries"));
  EXPECT_THAT(told[0], testing::HasSubstr("The setting profile_cb times command buffers"));
}

// The profile's clock is behind; samples are read with a newer pair.
TEST_F(Seed000, TheClocksAreComparedWhenSamplesAreRead) {
  const Device device = profiled();
  device.profile().record_clock_pair(2000, 1000);
  MTL::Timestamp before = 0, after = 0;
  device.metal_device()->sampleTimestamps(&before, nullptr);
  run_one(device, "clock");
  device.metal_device()->sampleTimestamps(&after, nullptr);
  const auto dump = device.profile().dump_dispatches();
  ASSERT_EQ(dump.size(), 1u);
  EXPECT_GE(dump[0].second.at(0).start_gpu_ns, before);
  EXPECT_LE(dump[0].second.at(0).end_gpu_ns, after);
}

TEST_F(Seed000, DumpIsGroupedByCommandBufferLabel) {
  const Device device = profiled();
  run_one(device, "test.cb.alpha");
  run_one(device, "test.cb.beta");
  const auto dump = device.profile().dump_dispatches();
  ASSERT_EQ(dump.size(), 2u);
  EXPECT_EQ(dump[0].first, "test.cb.alpha");
  EXPECT_EQ(dump[1].first, "test.cb.beta");
  for (const auto& [label, entries] : dump) {
    ASSERT_EQ(entries.size(), 1u) << label;
    EXPECT_EQ(entries[0].dispatch_index, 0u) << label;
  }
  const Device unsupported = profiled(kUnsupported);
  run_one(unsupported, "test.cb.alpha");
  EXPECT_TRUE(unsupported.profile().dump_dispatches().empty());
}

// Several command buffers of one label share a group, so indices repeat.
TEST_F(Seed000, EqualLabelsShareAGroup) {
  const Device device = profiled();
  run_one(device, "decode");
  run_one(device, "prefill");
  run_one(device, "decode");
  const auto dump = device.profile().dump_dispatches();
  ASSERT_EQ(dump.size(), 2u);
  EXPECT_EQ(dump[0].first, "decode");
  ASSERT_EQ(dump[0].second.size(), 2u);
  EXPECT_EQ(dump[0].second[0].dispatch_index, 0u);
  EXPECT_EQ(dump[0].second[1].dispatch_index, 0u);
  EXPECT_GE(dump[0].second[1].start_gpu_ns, dump[0].second[0].end_gpu_ns);
  EXPECT_EQ(dump[1].second.size(), 1u);
}

TEST_F(Seed000, OpKindReachesTheEntry) {
  const Device device = profiled();
  run_one(device, "test.opkind.cb", OpKind::kSdpa);
  const auto dump = device.profile().dump_dispatches();
  const auto* entries = group(dump, "test.opkind.cb");
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ((*entries)[0].op_kind, "Sdpa");
  const Device unsupported = profiled(kUnsupported);
  run_one(unsupported, "test.opkind.cb", OpKind::kSdpa);
  EXPECT_TRUE(unsupported.profile().dump_dispatches().empty());
}

TEST_F(Seed000, EntriesDescribeTheDispatch) {
  const Device device = profiled();
  const Buffer in = zeros(device, 64), out = zeros(device, 64);
  auto encoder = Seed000::encoder(device);
  dispatch(encoder, in, out);
  EXPECT_OK(encoder.memory_barrier());
  EXPECT_OK(encoder.dispatch({.pipeline = kernel(device, "inc_one"),
                              .bindings = {{0, in}, {1, out}},
                              .grid = width(64),
                              .threadgroup = width(16),
                              .kind = DispatchKind::kThreads,
                              .label = "second"}));
  EXPECT_OK(encoder.commit_and_wait_labeled("cb"));
  const auto dump = device.profile().dump_dispatches();
  ASSERT_EQ(dump.size(), 1u);
  const DispatchEntry& second = dump[0].second.at(1);
  EXPECT_EQ(second.kernel, "inc_one");
  EXPECT_EQ(second.label, "second");
  EXPECT_EQ(second.grid[0], 64u);
  EXPECT_EQ(second.threadgroup[0], 16u);
  EXPECT_EQ(second.bytes_bound, 512u);
  EXPECT_EQ(second.barrier_reason, "explicit");
  EXPECT_EQ(dump[0].second[0].barrier_reason, "");
}

TEST_F(Seed000, SamplingPointsCanBeAsked) {
  for (const bool supported : {true, false}) {
    const Device device = make_device({}, {.dispatch_sampling = supported});
    MTL::Device* metal = device.metal_device();
    EXPECT_TRUE(metal->supportsCounterSampling(MTL::CounterSamplingPointAtStageBoundary));
    EXPECT_EQ(metal->supportsCounterSampling(MTL::CounterSamplingPointAtDispatchBoundary),
              supported);
    EXPECT_EQ(device.limits().dispatch_sampling, supported);
    for (const auto point :
         {MTL::CounterSamplingPointAtBlitBoundary, MTL::CounterSamplingPointAtTileDispatchBoundary,
          MTL::CounterSamplingPointAtDrawBoundary}) {
      std::printf("sampling point %d: %d\n", static_cast<int>(point),
                  metal->supportsCounterSampling(point));
    }
  }
}

TEST_F(Seed000, NothingIsRecordedWhenOff) {
  LogLines lines;
  for (const bool supported : {true, false}) {
    const Device device = make_device({}, {.dispatch_sampling = supported});
    run_one(device, "quiet");
    EXPECT_TRUE(device.profile().dump_dispatches().empty());
    EXPECT_TRUE(device.profile().dump().empty());
    EXPECT_TRUE(device.profile().command_buffers().empty());
  }
  EXPECT_EQ(lines.count(""), 0u);
}

// Edge 40: documents of the original claim that the dispatch gate also fills the other table.
TEST_F(Seed000, TheTwoGatesAreIndependent) {
  const Device dispatches = profiled({}, false);
  run_one(dispatches, "only dispatches");
  EXPECT_EQ(dispatches.profile().dump_dispatches().size(), 1u);
  EXPECT_TRUE(dispatches.profile().dump().empty());
  const Device buffers = device_with(&RuntimeOptions::profile_command_buffers);
  run_one(buffers, "only buffers");
  EXPECT_TRUE(buffers.profile().dump_dispatches().empty());
  EXPECT_EQ(buffers.profile().dump().size(), 1u);
}

// Edge 40: in the original, samples of a command buffer that was not waited for by name are lost.
TEST_F(Seed000, EveryWayToCommitKeepsItsSamples) {
  const Device device = profiled();
  const Buffer in = zeros(device, 64), out = zeros(device, 64);
  auto labelled = encoder(device), plain = encoder(device), timed = encoder(device);
  for (auto* one : {&labelled, &plain, &timed}) dispatch(*one, in, out);
  EXPECT_OK(labelled.commit_labeled("async"));
  EXPECT_EQ(device.counters().syncs, 0u) << "profiling does not make it block";
  EXPECT_OK(labelled.wait_until_completed());
  EXPECT_OK(plain.commit_and_wait());
  EXPECT_OK(timed.commit_wait_with_gpu_time());
  const auto dump = device.profile().dump_dispatches();
  ASSERT_EQ(dump.size(), 2u);
  EXPECT_EQ(dump[0].first, "async");
  EXPECT_EQ(dump[1].first, "");
  EXPECT_EQ(dump[1].second.size(), 2u);
  EXPECT_EQ(device.profile().dump().size(), 1u) << "the table has labelled ones only";
}

// Edge 41: the original hands the next stage the sample buffer that the last one still writes.
TEST_F(Seed000, StagesOfASessionKeepTheirSamplesApart) {
  const Device device = profiled();
  const Buffer in = zeros(device, 64), out = zeros(device, 64);
  auto session = *device.encoder_session();
  for (int stage = 0; stage < 4; ++stage) {
    dispatch(session.encoder(), in, out);
    EXPECT_OK(session.fence_stage("stage" + std::to_string(stage)));
    EXPECT_OK(session.reset_for_next_stage());
  }
  EXPECT_OK(session.commit_and_wait());
  const auto dump = device.profile().dump_dispatches();
  ASSERT_EQ(dump.size(), 4u);
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(dump[stage].first, "stage" + std::to_string(stage));
    ASSERT_EQ(dump[stage].second.size(), 1u);
    EXPECT_EQ(dump[stage].second[0].dispatch_index, 0u);
    if (stage > 0) {
      EXPECT_GE(dump[stage].second[0].start_gpu_ns, dump[stage - 1].second[0].end_gpu_ns);
    }
  }
}

class Seed000Many : public Seed000 {
 protected:
  static constexpr uint32_t kDispatches = 2 * 2048 + 10;

  static void run_many(const Device& device) {
    const Buffer in = zeros(device, 32), out = zeros(device, 32);
    const Pipeline pipeline = kernel(device, "inc_one");
    auto encoder = Seed000::encoder(device);
    for (uint32_t i = 0; i < kDispatches; ++i) {
      EXPECT_OK(encoder.encode(pipeline, {{0, &in}, {1, &out}}, width(32), width(32)));
    }
    EXPECT_OK(encoder.commit_and_wait_labeled("many"));
  }
};

// Edge 4: the original stops at 2,048 dispatches without a word.
TEST_F(Seed000Many, NoDispatchGoesUnsampled) {
  const Device device = profiled();
  run_many(device);
  const auto dump = device.profile().dump_dispatches();
  ASSERT_EQ(dump.size(), 1u);
  ASSERT_EQ(dump[0].second.size(), kDispatches);
  uint64_t last = 0;
  for (uint32_t i = 0; i < kDispatches; ++i) {
    ASSERT_EQ(dump[0].second[i].dispatch_index, i);
    ASSERT_GE(dump[0].second[i].start_gpu_ns, last);
    last = dump[0].second[i].end_gpu_ns;
  }
  EXPECT_EQ(device.profile().dropped_samples(), 0u);
}

TEST_F(Seed000Many, WhatFindsNoSampleBufferIsCountedAndToldOnce) {
  LogLines lines;
  const Device device = profiled();
  const Buffer in = zeros(device, 32), out = zeros(device, 32);
  const Pipeline pipeline = kernel(device, "inc_one");
  for (int round = 0; round < 2; ++round) {
    device.profile().reset();
    auto encoder = Seed000::encoder(device);
    for (uint32_t i = 0; i < 2050; ++i) {
      if (i == 2048) metal::inject_fault(device.metal_device(), metal::Fault::kAllocation);
      EXPECT_OK(encoder.encode(pipeline, {{0, &in}, {1, &out}}, width(32), width(32)));
    }
    EXPECT_OK(encoder.commit_and_wait_labeled("short"));
    EXPECT_EQ(device.profile().dump_dispatches().at(0).second.size(), 2048u);
    EXPECT_EQ(device.profile().dropped_samples(), 2u);
  }
  EXPECT_EQ(lines.count("no sample buffer after 2048 dispatches"), 1u);
}

// Edge 4: each reason has its own warning.
TEST_F(Seed000, AFailedSampleBufferIsToldAndTheWorkRuns) {
  LogLines lines;
  const Device device = profiled();
  const Buffer in = zeros(device, 64), out = zeros(device, 64);
  kernel(device, "inc_one");
  for (int i = 0; i < 2; ++i) {
    auto encoder = Seed000::encoder(device);
    metal::inject_fault(device.metal_device(), metal::Fault::kAllocation);
    dispatch(encoder, in, out);
    EXPECT_OK(encoder.commit_and_wait_labeled("unsampled"));
  }
  EXPECT_EQ(read(out)[0], 1.0f);
  EXPECT_TRUE(device.profile().dump_dispatches().empty());
  EXPECT_EQ(device.profile().dump().size(), 1u);
  EXPECT_EQ(lines.count("sample buffer: "), 1u);
  EXPECT_EQ(lines.count("'mlx_native.dispatch_samples'"), 1u);
}

}  // namespace
}  // namespace mlxn::test
