#include "metal/rt/cache/kernel_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "mlxn/base/log.h"
#include "mlxn/base/settings.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class KernelCacheTest : public testing::Test {
 protected:
  KernelCacheTest() {
    std::string name = (fs::temp_directory_path() / "mlxn-cache-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    set_log_handler([this](LogLevel level, std::string_view text) {
      if (level <= LogLevel::kWarning) warnings_.emplace_back(text);
    });
  }
  ~KernelCacheTest() override {
    set_log_handler({});
    fs::remove_all(folder_);
  }

  KernelCache make_cache(uint64_t max_disk = 1 << 30, uint64_t max_memory = 1 << 20) const {
    return KernelCache({folder_, max_disk, max_memory});
  }

  static CacheKey key(const std::string& source) { return library_key(source, {}); }
  static msl::LibraryInfo info(const std::string& name, size_t warning_bytes = 0) {
    msl::LibraryInfo out;
    out.functions = {{name, {}}};
    out.warnings.assign(warning_bytes, 'w');
    return out;
  }
  // Asks for a library whose only function has the name of its source; counts how often it is made.
  std::string ask(KernelCache& cache, const std::string& source, size_t bytes = 0) {
    auto value = cache.library_info(key(source), [&]() -> Result<msl::LibraryInfo> {
      ++produced_;
      return info(source, bytes);
    });
    return value ? (*value)->functions.at(0).name : value.error().to_string();
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(folder_)) out.push_back(entry.path());
    return out;
  }

  std::string folder_;
  std::vector<std::string> warnings_;
  std::atomic<int> produced_{0};
};

TEST_F(KernelCacheTest, SecondRequestComesFromMemoryAndThirdProcessFromDisk) {
  KernelCache cache = make_cache();
  EXPECT_EQ(ask(cache, "a"), "a");
  EXPECT_EQ(ask(cache, "a"), "a");
  EXPECT_EQ(cache.counters().memory_hits, 1u);
  EXPECT_EQ(cache.counters().misses, 1u);
  EXPECT_EQ(cache.counters().writes, 1u);
  KernelCache other = make_cache();
  EXPECT_EQ(ask(other, "a"), "a");
  EXPECT_EQ(other.counters().disk_hits, 1u);
  EXPECT_EQ(other.counters().misses, 0u);
  EXPECT_EQ(produced_, 1);
}

TEST_F(KernelCacheTest, ImagesAreKeptToo) {
  msl::Image image;
  image.target = "cpu;x86-64;";
  image.code = {1, 2, 3};
  const CacheKey k = image_key(key("source"), {});
  for (int i = 0; i < 2; ++i) {
    KernelCache cache = make_cache();
    auto value = cache.image(k, [&]() -> Result<msl::Image> { return ++produced_, image; });
    ASSERT_TRUE(value);
    EXPECT_EQ((*value)->code, image.code);
  }
  EXPECT_EQ(produced_, 1);
}

TEST_F(KernelCacheTest, KeysDifferInEveryField) {
  std::set<std::string> texts;
  auto is_new = [&](const CacheKey& k) { return texts.insert(k.text + k.digest.to_hex()).second; };
  msl::CompileOptions options;
  EXPECT_TRUE(is_new(library_key("s", options)));
  EXPECT_FALSE(is_new(library_key("s", options)));
  EXPECT_TRUE(is_new(library_key("t", options)));
  options.macros = {{"A", "1"}, {"B", "2"}};
  EXPECT_TRUE(is_new(library_key("s", options)));
  options.macros = {{"A", "1\nmacro 1\nB"}, {"", "2"}};
  EXPECT_TRUE(is_new(library_key("s", options)));
  options.macros = {};
  options.math_mode = msl::MathMode::kFast;
  EXPECT_TRUE(is_new(library_key("s", options)));
  options.language_version = 0x20004;
  EXPECT_TRUE(is_new(library_key("s", options)));
  options.source_name = "other";
  EXPECT_TRUE(is_new(library_key("s", options)));

  const CacheKey library = key("s");
  msl::CompileRequest request;
  EXPECT_TRUE(is_new(image_key(library, request)));
  EXPECT_TRUE(is_new(image_key(key("t"), request)));
  request.entry_points = {"ab"};
  EXPECT_TRUE(is_new(image_key(library, request)));
  request.entry_points = {"a", "b"};
  EXPECT_TRUE(is_new(image_key(library, request)));
  request.constants.resize(1);
  EXPECT_TRUE(is_new(image_key(library, request)));
  request.constants[0].bytes[15] = 1;
  EXPECT_TRUE(is_new(image_key(library, request)));
  request.constants[0].index = 4;
  EXPECT_TRUE(is_new(image_key(library, request)));
  request.target.features = "+avx512bf16";
  EXPECT_TRUE(is_new(image_key(library, request)));
  request.emit = msl::Emit::kAssembly;
  EXPECT_TRUE(is_new(image_key(library, request)));
  request.forced_tier = 3;
  EXPECT_TRUE(is_new(image_key(library, request)));
}

TEST_F(KernelCacheTest, ErrorsAreNotKept) {
  KernelCache cache = make_cache();
  auto fail = []() -> Result<msl::LibraryInfo> { return Error(ErrorCode::kCompileFailed, "bad"); };
  EXPECT_EQ(cache.library_info(key("a"), fail).error().message(), "bad");
  EXPECT_EQ(ask(cache, "a"), "a");
  EXPECT_EQ(produced_, 1);
}

TEST_F(KernelCacheTest, SourcesWithIncludeFoldersAreNotKept) {
  KernelCache cache = make_cache();
  msl::CompileOptions options;
  options.include_dirs = {"/some/where"};
  const CacheKey k = library_key("a", options);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(cache.library_info(
        k, [&]() -> Result<msl::LibraryInfo> { return ++produced_, info("a"); }));
  }
  EXPECT_EQ(produced_, 2);
  EXPECT_TRUE(files().empty());
}

TEST_F(KernelCacheTest, EveryDamagedByteIsFoundAndTheEntryRebuilt) {
  KernelCache first = make_cache();
  ask(first, "a");
  ASSERT_EQ(files().size(), 1u);
  const fs::path path = files()[0];
  std::ifstream in(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  for (size_t i = 0; i < whole.size(); ++i) {
    if (i >= 12 && i < 16) continue;  // reserved
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ 0x41);
    std::ofstream(path, std::ios::binary) << bad;
    produced_ = 0;
    KernelCache cache = make_cache();
    ASSERT_EQ(ask(cache, "a"), "a");
    ASSERT_EQ(produced_, 1) << "byte " << i;
    ASSERT_EQ(cache.counters().failures, 1u);
    ASSERT_EQ(cache.counters().writes, 1u);
  }
  KernelCache last = make_cache();
  ask(last, "a");
  EXPECT_EQ(last.counters().disk_hits, 1u);
}

TEST_F(KernelCacheTest, TruncatedEntriesAreRebuilt) {
  KernelCache first = make_cache();
  ask(first, "a");
  const fs::path path = files()[0];
  const auto size = fs::file_size(path);
  for (uint64_t n = 0; n < size; ++n) {
    fs::resize_file(path, n);
    produced_ = 0;
    KernelCache cache = make_cache();
    ASSERT_EQ(ask(cache, "a"), "a");
    ASSERT_EQ(produced_, 1) << n;
    ASSERT_EQ(fs::file_size(path), size);
  }
}

TEST_F(KernelCacheTest, EntriesOfAnotherKeyWithTheSameHashAreNotUsed) {
  KernelCache first = make_cache();
  ask(first, "a");
  fs::rename(files()[0], fs::path(folder_) / (key("b").digest.to_hex() + ".mlxn"));
  KernelCache cache = make_cache();
  EXPECT_EQ(ask(cache, "b"), "b");
}

TEST_F(KernelCacheTest, OneThreadProducesForAll) {
  KernelCache cache = make_cache();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      auto value = cache.library_info(key("slow"), [&]() -> Result<msl::LibraryInfo> {
        ++produced_;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return info("slow");
      });
      EXPECT_TRUE(value);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(produced_, 1);
}

TEST_F(KernelCacheTest, ThreadsWithManyKeys) {
  KernelCache cache = make_cache(1 << 30, 4096);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const std::string name = str("k", (i * (t + 1)) % 50);
        EXPECT_EQ(ask(cache, name), name);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(produced_, 50);  // each once: the disk has what memory forgot
}

// Runs `body` in a child process; true when it returned true.
template <class Body>
bool in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(KernelCacheTest, ProcessesShareTheFolder) {
  std::vector<pid_t> children;
  for (int p = 0; p < 4; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      bool right = true;
      for (int round = 0; round < 20; ++round) {
        KernelCache cache = make_cache(20000);  // small: processes also evict each other's entries
        for (int i = 0; i < 30; ++i) right &= ask(cache, str("k", i), 1000) == str("k", i);
        right &= cache.counters().failures == 0;
      }
      _exit(right ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const fs::path& path : files()) EXPECT_EQ(path.extension(), ".mlxn") << path;
}

TEST_F(KernelCacheTest, TheFolderStaysWithinItsBoundAndLosesTheOldest) {
  KernelCache cache = make_cache(100'000, 0);
  for (int i = 0; i < 200; ++i) ask(cache, str("k", i), 2000);
  uint64_t total = 0;
  for (const fs::path& path : files()) total += fs::file_size(path);
  EXPECT_LE(total, 100'000u);
  EXPECT_GT(total, 60'000u);
  EXPECT_GT(cache.counters().evictions, 0u);
  produced_ = 0;
  ask(cache, "k199", 2000);
  EXPECT_EQ(produced_, 0);
  ask(cache, "k0", 2000);
  EXPECT_EQ(produced_, 1);
}

TEST_F(KernelCacheTest, MemoryIsBounded) {
  KernelCache cache = make_cache(1 << 30, 5000);
  for (int i = 0; i < 20; ++i) ask(cache, str("k", i), 1000);
  const uint64_t before = cache.counters().disk_hits;
  ask(cache, "k0", 1000);
  EXPECT_EQ(cache.counters().disk_hits, before + 1);
  ask(cache, "k19", 1000);
  EXPECT_EQ(cache.counters().disk_hits, before + 1);
}

TEST_F(KernelCacheTest, AFullDiskOnlyCostsTime) {
  EXPECT_TRUE(in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};  // no file may grow beyond 100 bytes, as on a full disk
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    KernelCache cache = make_cache(1 << 30, 0);
    bool right = true;
    for (int i = 0; i < 3; ++i) right &= ask(cache, "a", 1000) == "a";
    return right && produced_ == 3 && cache.counters().failures == 3 && warnings_.size() == 1 &&
           files().empty();
  }));
}

TEST_F(KernelCacheTest, AnUnusableFolderOnlyCostsTime) {
  KernelCache cache({"/dev/null/mlxn", 1 << 30, 0});
  EXPECT_EQ(ask(cache, "a"), "a");
  EXPECT_EQ(ask(cache, "a"), "a");
  EXPECT_EQ(produced_, 2);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], HasSubstr("/dev/null/mlxn"));
}

TEST_F(KernelCacheTest, FoldersOthersCanWriteAreNotTrusted) {
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  KernelCache cache = make_cache();
  EXPECT_EQ(ask(cache, "a"), "a");
  EXPECT_TRUE(files().empty());
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], HasSubstr("written by other users"));
}

TEST_F(KernelCacheTest, DeletedFoldersAreMadeAgain) {
  KernelCache cache = make_cache(1 << 30, 0);
  ask(cache, "a");
  fs::remove_all(folder_);
  EXPECT_EQ(ask(cache, "b"), "b");
  EXPECT_EQ(ask(cache, "c"), "c");
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(KernelCacheTest, SettingsChooseTheFolder) {
  ScopedSetting folder(Setting::kCacheDir, "/some/folder");
  EXPECT_EQ(KernelCache::default_options().folder, "/some/folder");
  ScopedSetting off(Setting::kCache, "0");
  EXPECT_EQ(KernelCache::default_options().folder, "");
}

}  // namespace
}  // namespace mlxn::rt
