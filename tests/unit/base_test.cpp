#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "mlxn/base/checked.h"
#include "mlxn/base/dtype.h"
#include "mlxn/base/log.h"
#include "mlxn/base/printable.h"
#include "mlxn/base/read_file.h"
#include "mlxn/base/settings.h"
#include "mlxn/base/strings.h"

namespace mlxn {
namespace {

using testing::HasSubstr;

TEST(Result, TryReturnsTheFirstError) {
  auto half = [](int x) -> Result<int> {
    if (x % 2) return Error(ErrorCode::kInvalidArgument, str(x, " is odd"));
    return x / 2;
  };
  auto quarter = [&](int x) -> Result<int> {
    MLXN_ASSIGN(int h, half(x));
    return half(h);
  };
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message(), "3 is odd");
  EXPECT_EQ(quarter(6).error().to_string(), "invalid argument: 3 is odd");
}

TEST(Result, ContextGoesInFront) {
  Error error(ErrorCode::kIo, "no such file");
  EXPECT_EQ(error.add_context("reading x").message(), "reading x: no such file");
}

TEST(Checked, Add) {
  EXPECT_EQ(*checked_add<uint64_t>(2, 3), 5u);
  EXPECT_FALSE(checked_add<uint64_t>(std::numeric_limits<uint64_t>::max(), 1));
  EXPECT_FALSE(checked_add<int8_t>(127, 1));
  EXPECT_EQ(checked_add<uint8_t>(255, 1).error().message(), "255 + 1 overflows");
}

TEST(Checked, SubAndMul) {
  EXPECT_FALSE(checked_sub<uint32_t>(1, 2));
  EXPECT_EQ(*checked_mul<uint64_t>(1ull << 32, 1ull << 31), 1ull << 63);
  EXPECT_FALSE(checked_mul<uint64_t>(1ull << 32, 1ull << 32));
}

TEST(Checked, AlignUp) {
  EXPECT_EQ(*checked_align_up<uint64_t>(65, 64), 128u);
  EXPECT_EQ(*checked_align_up<uint64_t>(64, 64), 64u);
  EXPECT_FALSE(checked_align_up<uint64_t>(64, 48));
  EXPECT_FALSE(checked_align_up<uint64_t>(~0ull, 64));
}

TEST(Checked, CastAndSpan) {
  EXPECT_EQ(*checked_cast<uint32_t>(7ull), 7u);
  EXPECT_FALSE(checked_cast<uint32_t>(1ull << 32));
  EXPECT_FALSE(checked_cast<uint32_t>(-1));
  EXPECT_TRUE(span_fits(8, 8, 16));
  EXPECT_FALSE(span_fits(9, 8, 16));
  EXPECT_FALSE(span_fits(~0ull, 2, 16));
  EXPECT_EQ(saturating_add(~0ull - 1, 1), ~0ull);
  EXPECT_EQ(saturating_add(~0ull, 1), ~0ull);
  EXPECT_EQ(saturating_sub(3, 2), 1u);
  EXPECT_EQ(saturating_sub(2, 3), 0u);
}

TEST(Dtype, NamesRoundTripAndAreUnique) {
  std::set<std::string_view> names;
  for (const DtypeInfo& entry : dtypes()) {
    EXPECT_EQ(*parse_dtype(entry.name), entry.dtype);
    EXPECT_EQ(&info(entry.dtype), &entry);
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
  }
  EXPECT_THAT(parse_dtype("f33").error().message(), HasSubstr("f33"));
}

TEST(Dtype, Sizes) {
  EXPECT_EQ(*size_bytes(Dtype::kF32, 3), 12u);
  EXPECT_EQ(*size_bytes(Dtype::kQ4_0, 64), 36u);
  EXPECT_EQ(*size_bytes(Dtype::kQ6_K, 256), 210u);
  EXPECT_EQ(size_bytes(Dtype::kQ4_0, 33).error().code(), ErrorCode::kShapeMismatch);
  EXPECT_EQ(size_bytes(Dtype::kF32, 1ull << 62).error().code(), ErrorCode::kOutOfRange);
}

TEST(Settings, TableIsComplete) {
  for (size_t i = 0; i < settings().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(settings()[i].id), i);
    EXPECT_FALSE(settings()[i].meaning.empty());
  }
  EXPECT_EQ(environment_name(settings()[static_cast<size_t>(Setting::kCacheDir)]),
            "MLXN_CACHE_DIR");
}

TEST(Settings, OverridesEndWithTheirScope) {
  const int64_t before = setting_int(Setting::kCacheMaxBytes);
  {
    ScopedSetting scoped(Setting::kCacheMaxBytes, "3M");
    ASSERT_TRUE(scoped.status());
    EXPECT_EQ(setting_int(Setting::kCacheMaxBytes), 3 << 20);
  }
  EXPECT_EQ(setting_int(Setting::kCacheMaxBytes), before);
}

TEST(Settings, BadValuesAreRefused) {
  Status status = set_setting(Setting::kCpuWorkers, "many");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), HasSubstr("cpu_workers = \"many\""));
  EXPECT_FALSE(set_setting(Setting::kCacheMaxBytes, "9999999999G"));
  EXPECT_FALSE(set_setting(Setting::kCacheMaxBytes, "1Q"));
  EXPECT_FALSE(set_setting(Setting::kCache, "perhaps"));
}

// Collects messages while it lives.
struct LogCapture {
  LogCapture() {
    set_log_handler([this](LogLevel, std::string_view text) { lines.emplace_back(text); });
  }
  ~LogCapture() { set_log_handler({}); }
  std::vector<std::string> lines;
};

TEST(ReadFile, GivesEveryByteOrTheReason) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  const std::string path = (folder / str("mlxn_read_file_", ::getpid())).string();
  std::string bytes(200'000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  std::ofstream(path, std::ios::binary) << bytes;
  const Result<std::string> read = read_file(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_TRUE(*read == bytes);
  const std::string gone = read_file(path).error().message();
  EXPECT_EQ(gone, str("cannot open '", path, "': No such file or directory"));
  const Result<std::string> of_folder = read_file(folder.string());
  ASSERT_FALSE(of_folder);
  EXPECT_EQ(of_folder.error().code(), ErrorCode::kIo);
}

TEST(Log, LevelsAreFiltered) {
  LogCapture capture;
  ScopedSetting level(Setting::kLog, "info");
  log(LogLevel::kDebug, "unseen");
  log(LogLevel::kInfo, "seen");
  EXPECT_THAT(capture.lines, testing::ElementsAre("seen"));
  ScopedSetting off(Setting::kLog, "off");
  EXPECT_FALSE(log_enabled(LogLevel::kError));
}

TEST(Log, ThreadsTakeTurns) {
  LogCapture capture;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) log(LogLevel::kError, "line");
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(capture.lines.size(), 400u);
}

TEST(Result, AnUnwrappedTemporaryLivesThroughALoop) {
  const auto make = []() -> Result<std::vector<int>> { return std::vector<int>{1, 2, 3}; };
  int sum = 0;
  for (int value : *make()) sum += value;
  for (int value : make().value()) sum += value;
  EXPECT_EQ(sum, 12);
}

TEST(Printable, SpellsWhatMovesATerminal) {
  EXPECT_EQ(printable("plain text, \xC3\xA4\n\tindented"), "plain text, \xC3\xA4\n\tindented");
  EXPECT_EQ(printable("\x1B[31mred\x07\r"), "\\x1b[31mred\\x07\\x0d");
  EXPECT_EQ(printable(std::string_view("\0\x7F", 2)), "\\x00\\x7f");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\x9b31m");  // CSI as one code point
  EXPECT_EQ(printable("\xC2"), "\xC2");
}

}  // namespace
}  // namespace mlxn
