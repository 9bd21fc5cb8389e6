// Frame captures: when one starts, when it ends, and that the latch is for successes only.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "mlxn/base/strings.h"
#include "mlxn/core/graph/graph_session.h"
#include "mlxn/core/profile/gpu_trace.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class Capture : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    GpuTrace::rearm();
  }
  void TearDown() override {
    EXPECT_FALSE(is_capturing()) << "whatever was started is stopped";
    GpuTrace::rearm();
    std::filesystem::remove_all(folder);
  }
  static bool is_capturing() { return MTL::CaptureManager::sharedCaptureManager()->isCapturing(); }
  std::string path(const std::string& name) const { return folder / name; }
  Device device_for(const std::string& capture_path) const {
    RuntimeOptions options;
    options.capture_path = capture_path;
    return make_device(options);
  }
  static void run(GraphSession& session, bool finish = true) {
    const Buffer in = zeros(session.device(), 32), out = zeros(session.device(), 32);
    EXPECT_OK(inc_one(session.encoder(), in, out));
    if (finish) EXPECT_OK(session.finish());
  }
  static bool has_content(const std::string& file) {
    return std::filesystem::exists(file) && std::filesystem::file_size(file) > 0;
  }

  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / str("mlxn_capture_", getpid());
};

TEST_F(Capture, NothingWithoutAPath) {
  EXPECT_FALSE(GpuTrace::from_options(make_device()));
  EXPECT_FALSE(is_capturing());
}

TEST_F(Capture, NothingWithAnEmptyPath) {
  EXPECT_FALSE(GpuTrace::from_options(device_for("")));
  EXPECT_ERROR(kInvalidArgument, GpuTrace::start(make_device(), ""));
}

TEST_F(Capture, OnlyTheFirstOneOfAProcess) {
  const Device device = device_for(path("one"));
  EXPECT_TRUE(GpuTrace::from_options(device));
  EXPECT_FALSE(GpuTrace::from_options(device));
  GpuTrace::rearm();
  EXPECT_TRUE(GpuTrace::from_options(device_for(path("two"))));
}

// Edge 61: in the original a failed attempt uses up the only chance.
TEST_F(Capture, AFailedAttemptWarnsAndLeavesTheChance) {
  LogLines lines;
  EXPECT_FALSE(GpuTrace::from_options(device_for(path("no/such/folder/trace"))));
  EXPECT_EQ(lines.count("no/such/folder"), 1u);
  EXPECT_FALSE(is_capturing());
  EXPECT_TRUE(GpuTrace::from_options(device_for(path("second"))));
}

// Edge 61: one that is only created and dropped leaves nothing running.
TEST_F(Capture, EndStopsWhatWasStartedOnce) {
  const Device device = make_device();
  {
    auto capture = GpuTrace::start(device, path("dropped"));
    ASSERT_TRUE(capture) << capture.error().to_string();
    EXPECT_TRUE(is_capturing());
    EXPECT_EQ(capture->path(), path("dropped"));
  }
  EXPECT_FALSE(is_capturing());
  auto first = GpuTrace::start(device, path("first"));
  ASSERT_TRUE(first);
  first->end();
  EXPECT_FALSE(is_capturing());
  auto second = GpuTrace::start(device, path("second"));
  ASSERT_TRUE(second);
  first->end();
  EXPECT_TRUE(is_capturing()) << "the first one is over and stops nobody else's";
  auto third = GpuTrace::start(device, path("third"));
  EXPECT_ERROR(kInvalidState, third);
  GpuTrace moved = std::move(*second);
  second->end();
  EXPECT_TRUE(is_capturing());
  moved.end();
  moved.end();
  EXPECT_FALSE(is_capturing());
}

TEST_F(Capture, APathThatCannotBeWrittenIsAnError) {
  auto capture = GpuTrace::start(make_device(), path("no/such/folder/trace"));
  EXPECT_ERROR(kIo, capture);
  EXPECT_THAT(capture.error().message(), testing::HasSubstr("no/such/folder/trace"));
}

TEST_F(Capture, SessionsWithoutAPathAreNotCaptured) {
  const Device device = make_device();
  auto session = *device.graph_session();
  EXPECT_FALSE(is_capturing());
  run(session);
}

TEST_F(Capture, TheFirstGraphSessionIsWritten) {
  const Device device = device_for(path("trace"));
  {
    auto session = *device.graph_session();
    EXPECT_TRUE(is_capturing());
    run(session);
    EXPECT_FALSE(is_capturing()) << "ends with finish";
  }
  EXPECT_TRUE(has_content(path("trace")));
  std::filesystem::remove(path("trace"));
  auto later = *device.graph_session();
  EXPECT_FALSE(is_capturing());
  run(later);
  EXPECT_FALSE(has_content(path("trace")));
}

TEST_F(Capture, ADroppedSessionEndsItsCapture) {
  const Device device = device_for(path("dropped"));
  {
    auto session = *device.graph_session();
    run(session, false);
    EXPECT_TRUE(is_capturing());
  }
  EXPECT_FALSE(is_capturing());
}

TEST_F(Capture, ReplayGivesWhatTheCaptureSaw) {
  const Device device = device_for(path("replay"));
  {
    auto session = *device.graph_session();
    run(session);
  }
  metal::ReplayReport report;
  NS::Error* error = nullptr;
  ASSERT_TRUE(metal::replay_capture(device.metal_device(), path("replay").c_str(), &report, &error))
      << error->localizedDescription()->utf8String();
  EXPECT_EQ(report.dispatches, 1u);
  EXPECT_EQ(report.mismatching_memories, 0u) << report.first_mismatch;
  EXPECT_GE(report.bytes_compared, 128u);
}

}  // namespace
}  // namespace mlxn::test
