// The profile by itself: tables, clock, bounds, JSON, trace. What encoders put into it is tested
// with the seeds.
#include "mlxn/core/profile/profile.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "mlxn/base/strings.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

DispatchEntry dispatch(const std::string& cb_label, const std::string& op_kind, uint32_t index) {
  DispatchEntry entry;
  entry.cb_label = cb_label;
  entry.op_kind = op_kind;
  entry.dispatch_index = index;
  return entry;
}

std::filesystem::path temporary_folder(const std::string& name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("mlxn_profile_" + name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

size_t files_in(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(Profile, EqualTotalsAreInOrderOfTheirLabels) {
  Profile profile;
  for (const char* label : {"c", "a", "d", "b"}) profile.record(label, 10);
  profile.record("z", 11);
  std::vector<std::string> order;
  for (const auto& [label, entry] : profile.dump()) order.push_back(label);
  EXPECT_THAT(order, testing::ElementsAre("z", "a", "b", "c", "d"));
}

TEST(Profile, TotalsSaturate) {
  Profile profile;
  profile.record("A", kMax);
  profile.record("A", 5);
  const auto dump = profile.dump();
  ASSERT_EQ(dump.size(), 1u);
  EXPECT_EQ(dump[0].second.total_ns, kMax);
  EXPECT_EQ(dump[0].second.count, 2u);
  EXPECT_EQ(dump[0].second.min_ns, 5u);
  EXPECT_EQ(dump[0].second.max_ns, kMax);
}

TEST(Profile, DispatchRecordDumpResetCycle) {
  Profile profile;
  profile.record_dispatch(dispatch("layer.attn[0]", "RmsNorm", 0));
  profile.record_dispatch(dispatch("layer.ffn[0]", "Other", 0));
  profile.record_dispatch(dispatch("layer.attn[0]", "Sdpa", 1));
  const auto groups = profile.dump_dispatches();
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].first, "layer.attn[0]");
  ASSERT_EQ(groups[0].second.size(), 2u);
  EXPECT_EQ(groups[0].second[0].op_kind, "RmsNorm");
  EXPECT_EQ(groups[0].second[1].op_kind, "Sdpa");
  EXPECT_EQ(groups[1].first, "layer.ffn[0]");
  EXPECT_EQ(groups[1].second.size(), 1u);
  EXPECT_EQ(profile.dump_dispatches().size(), 2u) << "a dump does not clear";
  profile.reset();
  EXPECT_TRUE(profile.dump_dispatches().empty());
}

TEST(Profile, DispatchDumpIsEmptyWithoutEntries) {
  EXPECT_TRUE(Profile().dump_dispatches().empty());
}

TEST(Profile, TicksAreNanosecondsWithoutAPair) {
  EXPECT_EQ(Profile().convert_gpu_ticks_to_ns(12345), 12345u);
}

TEST(Profile, OnePairScalesTicks) {
  Profile profile;
  profile.record_clock_pair(2000, 1000);
  EXPECT_EQ(profile.convert_gpu_ticks_to_ns(500), 1000u);
  EXPECT_EQ(profile.convert_gpu_ticks_to_ns(0), 0u);
  profile.reset();
  EXPECT_EQ(profile.convert_gpu_ticks_to_ns(500), 500u) << "reset forgets the clock";
}

TEST(Profile, APairWithAZeroHalfIsOneToOne) {
  Profile profile;
  profile.record_clock_pair(0, 1000);
  EXPECT_EQ(profile.convert_gpu_ticks_to_ns(7), 7u);
  profile.record_clock_pair(2000, 0);
  EXPECT_EQ(profile.convert_gpu_ticks_to_ns(7), 7u);
}

// Edge 42: clocks that did not start together need the line through two pairs; the ratio of the
// absolute values gives 2'000'000 here.
TEST(Profile, TwoPairsGiveTheLineThroughBoth) {
  Profile profile;
  profile.record_clock_pair(1'000'000, 100);
  profile.record_clock_pair(1'003'000, 400);
  EXPECT_EQ(profile.convert_gpu_ticks_to_ns(200), 1'001'000u);
  EXPECT_EQ(profile.convert_gpu_ticks_to_ns(50), 999'500u);
  EXPECT_EQ(profile.convert_gpu_ticks_to_ns(500), 1'004'000u);
  profile.record_clock_pair(500, 1000);  // went back: starts anew
  EXPECT_EQ(profile.convert_gpu_ticks_to_ns(100), 50u);
}

// Doubles lose the low bits of such values.
TEST(Profile, ConversionIsExactForLargeTicks) {
  Profile profile;
  const uint64_t base = (uint64_t{1} << 62) + 1;
  profile.record_clock_pair(base, base);
  EXPECT_EQ(profile.convert_gpu_ticks_to_ns(base + 12345), base + 12345);
  profile.record_clock_pair(base + 3000, base + 1000);
  EXPECT_EQ(profile.convert_gpu_ticks_to_ns(base + 1), base + 3);
  EXPECT_EQ(profile.convert_gpu_ticks_to_ns(kMax), kMax) << "saturates";
}

TEST(Profile, ListsAreBoundedAndCountWhatTheyDrop) {
  Profile profile(2);
  for (uint32_t i = 0; i < 5; ++i) profile.record_dispatch(dispatch("cb", "Other", i));
  for (int i = 0; i < 3; ++i) profile.record_command_buffer({.label = "cb", .error = ""});
  EXPECT_EQ(profile.dump_dispatches()[0].second.size(), 2u);
  EXPECT_EQ(profile.command_buffers().size(), 2u);
  EXPECT_EQ(profile.dropped_samples(), 3u);
  EXPECT_EQ(profile.dropped_command_buffers(), 1u);
  profile.add_dropped_samples(4);
  EXPECT_EQ(profile.dropped_samples(), 7u);
  const Json json = Json::parse(profile.to_json());
  EXPECT_EQ(json["dropped_samples"], 7);
  EXPECT_EQ(json["dropped_command_buffers"], 1);
  profile.reset();
  EXPECT_EQ(profile.dropped_samples() + profile.dropped_command_buffers(), 0u);
}

// A command buffer on queue 3 with one dispatch inside.
Profile& example(Profile& profile) {
  profile.set_device(7, "test device");
  profile.record("decode", 1500);
  profile.record_command_buffer({.label = "decode",
                                 .queue = 3,
                                 .start_ns = 5'000'000'000'000'000'001,
                                 .end_ns = 5'000'000'000'000'001'501,
                                 .dispatches = 1,
                                 .barriers = 2,
                                 .error = ""});
  DispatchEntry entry = dispatch("decode", "Sdpa", 0);
  entry.queue = 3;
  entry.kernel = "sdpa_f32";
  entry.label = "layer.0";
  entry.start_gpu_ns = 5'000'000'000'000'000'251;
  entry.end_gpu_ns = 5'000'000'000'000'001'252;
  entry.gpu_ns = 1001;
  entry.grid[0] = 8, entry.grid[1] = entry.grid[2] = 1;
  entry.threadgroup[0] = 32, entry.threadgroup[1] = entry.threadgroup[2] = 1;
  entry.bytes_bound = 4096;
  entry.barrier_reason = "RAW";
  profile.record_dispatch(entry);
  return profile;
}

TEST(Profile, JsonHoldsAllTables) {
  Profile profile;
  const Json json = Json::parse(example(profile).to_json());
  EXPECT_EQ(json["labels"][0], Json({{"label", "decode"},
                                     {"count", 1},
                                     {"total_ns", 1500},
                                     {"min_ns", 1500},
                                     {"max_ns", 1500}}));
  const Json& entry = json["dispatches"][0]["entries"][0];
  EXPECT_EQ(json["dispatches"][0]["label"], "decode");
  EXPECT_EQ(entry["kernel"], "sdpa_f32");
  EXPECT_EQ(entry["gpu_ns"], 1001);
  EXPECT_EQ(entry["start_ns"], 5'000'000'000'000'000'251u);
  EXPECT_EQ(json["command_buffers"][0]["barriers"], 2);
}

TEST(Profile, TraceHasATrackForEachQueueAndNestedSlices) {
  Profile profile;
  const Json trace = Json::parse(example(profile).to_trace_json());
  const Json& events = trace["traceEvents"];
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0], Json({{"name", "process_name"},
                             {"ph", "M"},
                             {"pid", 7},
                             {"args", {{"name", "test device"}}}}));
  EXPECT_EQ(events[1]["name"], "thread_name");
  EXPECT_EQ(events[1]["tid"], 1) << "the first queue";
  EXPECT_EQ(events[1]["args"]["name"], "queue 1");
  const Json &buffer = events[2], &slice = events[3];
  EXPECT_EQ(buffer["ph"], "X");
  EXPECT_EQ(buffer["name"], "decode");
  EXPECT_EQ(buffer["ts"], 0.0);
  EXPECT_EQ(buffer["dur"], 1.5);
  EXPECT_EQ(buffer["args"]["barriers"], 2);
  EXPECT_EQ(slice["name"], "layer.0");
  EXPECT_EQ(slice["pid"], 7);
  EXPECT_EQ(slice["tid"], 1);
  EXPECT_EQ(slice["ts"], 0.25);
  EXPECT_EQ(slice["dur"], 1.001);
  EXPECT_GE(slice["ts"], buffer["ts"]);
  EXPECT_LE(slice["ts"].get<double>() + slice["dur"].get<double>(),
            buffer["ts"].get<double>() + buffer["dur"].get<double>());
  const Json& args = slice["args"];
  EXPECT_EQ(args["kernel"], "sdpa_f32");
  EXPECT_EQ(args["label"], "layer.0");
  EXPECT_EQ(args["grid"], Json({8, 1, 1}));
  EXPECT_EQ(args["threadgroup"], Json({32, 1, 1}));
  EXPECT_EQ(args["bytes_bound"], 4096);
  EXPECT_EQ(args["barrier"], "RAW");
  EXPECT_EQ(args["op_kind"], "Sdpa");
  EXPECT_EQ(trace["otherData"]["origin_ns"], 5'000'000'000'000'000'001u);
}

TEST(Profile, TraceOfARunNestsDispatchesInCommandBuffers) {
  RuntimeOptions options;
  options.profile_dispatches = options.profile_command_buffers = true;
  const Device first = make_device(options);
  const Device second = *first.with_new_queue();
  const Buffer in = zeros(first, 32), out = zeros(first, 32);
  for (const Device& device : {first, second}) {
    auto encoder = *device.command_encoder();
    for (int i = 0; i < 3; ++i) EXPECT_OK(inc_one(encoder, in, out));
    EXPECT_OK(encoder.commit_and_wait_labeled("cb"));
  }
  const Json trace = Json::parse(first.profile().to_trace_json());
  std::map<int, Json> buffers;
  std::map<int, int> dispatches;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const int tid = event["tid"];
    if (event["cat"] == "command_buffer") {
      buffers[tid] = event;
      continue;
    }
    ++dispatches[tid];
    const double start = event["ts"], end = start + event["dur"].get<double>();
    EXPECT_GE(start, buffers[tid]["ts"].get<double>());
    EXPECT_LE(end, buffers[tid]["ts"].get<double>() + buffers[tid]["dur"].get<double>() + 0.001);
  }
  EXPECT_EQ(dispatches, (std::map<int, int>{{1, 3}, {2, 3}})) << "a track for each queue";
}

TEST(Profile, TraceOfNothingAndOfBrokenTextIsValidJson) {
  EXPECT_EQ(Json::parse(Profile().to_trace_json())["traceEvents"].size(), 1u);
  Profile profile;
  profile.record("\xff\xfe\"\n", 1);
  profile.record_command_buffer({.label = "\xff", .error = "\xc3"});
  EXPECT_FALSE(Json::parse(profile.to_json()).empty());
  EXPECT_FALSE(Json::parse(profile.to_trace_json()).empty());
}

TEST(Profile, WriteTraceReplacesTheFileAndLeavesNoOther) {
  Profile profile;
  const auto folder = temporary_folder("write");
  const std::string path = folder / "trace.json";
  EXPECT_OK(profile.write_trace(path));
  EXPECT_OK(example(profile).write_trace(path));
  std::ifstream file(path);
  EXPECT_EQ(Json::parse(file)["traceEvents"].size(), 4u);
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(Profile, WriteTraceReportsWhatCannotBeWritten) {
  Profile profile;
  const auto folder = temporary_folder("errors");
  EXPECT_ERROR(kInvalidArgument, profile.write_trace(""));
  EXPECT_ERROR(kIo, profile.write_trace(folder / "missing" / "trace.json"));
  std::filesystem::create_directories(folder / "taken" / "inside");
  auto status = profile.write_trace(folder / "taken");
  EXPECT_ERROR(kIo, status);
  EXPECT_THAT(status.error().message(), testing::HasSubstr((folder / "taken").string()));
  EXPECT_EQ(files_in(folder), 1u) << "no temporary file stays behind";
}

TEST(Profile, ManyThreadsLoseNothing) {
  Profile profile;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 500; ++i) {
        profile.record("shared", 2);
        profile.record_dispatch(dispatch("t" + std::to_string(t), "Other", i));
        if (i % 100 == 0) (void)profile.to_trace_json();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(profile.dump()[0].second.total_ns, 8000u);
  for (const auto& [label, entries] : profile.dump_dispatches()) {
    ASSERT_EQ(entries.size(), 500u);
    for (uint32_t i = 0; i < 500; ++i) EXPECT_EQ(entries[i].dispatch_index, i) << label;
  }
}

TEST(ProfileTrace, IsWrittenWhenTheDeviceEnds) {
  const auto folder = std::filesystem::path(testing::TempDir()) / str("mlxn-trace-", getpid());
  std::filesystem::create_directories(folder);
  RuntimeOptions options;
  options.trace_path = (folder / "trace.json").string();
  options.profile_dispatches = true;
  for (int i = 0; i < 2; ++i) {
    const Device device = make_device(options);
    EXPECT_TRUE(device.options().profile_command_buffers);
    const Buffer a = zeros(device, 4);
    CommandEncoder encoder = *device.command_encoder();
    EXPECT_OK(inc_one(encoder, a, a));
    EXPECT_OK(encoder.commit_and_wait_labeled(str("frame", i)));
  }
  std::string all;
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    ASSERT_FALSE(Json::parse(text, nullptr, false).is_discarded()) << text;
    EXPECT_THAT(text, testing::HasSubstr("inc_one"));
    all += text;
    ++files;
  }
  EXPECT_EQ(files, 2u);
  EXPECT_THAT(all, testing::AllOf(testing::HasSubstr("frame0"), testing::HasSubstr("frame1")));
  {
    LogLines lines;
    options.trace_path = (folder / "missing" / "trace.json").string();
    make_device(options);
    EXPECT_EQ(lines.count("trace.json"), 1u);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace mlxn::test
