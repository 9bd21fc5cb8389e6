// The cache holds code that runs with the rights of the process: it is taken only from files and
// folders that nobody else can write.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "metal/rt/cache/cache_store.h"

namespace mlxn::rt {
namespace {

namespace fs = std::filesystem;

class CacheTrustTest : public testing::Test {
 protected:
  CacheTrustTest() {
    std::string name = (fs::temp_directory_path() / "mlxn-trust-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    top_ = name;
    folder_ = top_ + "/cache";
  }
  ~CacheTrustTest() override { fs::remove_all(top_); }

  CacheStore make_store() const { return CacheStore(folder_, 1 << 20); }
  static void write(CacheStore& store) { store.write(digest_of("key"), "key", {1, 2, 3}); }
  static bool reads(CacheStore& store) {
    auto data = store.read(digest_of("key"), "key");
    return data && *data == std::vector<uint8_t>({1, 2, 3});
  }
  bool reads_anew() const {
    CacheStore store = make_store();
    return reads(store);
  }
  std::string entry() const { return folder_ + "/" + digest_of("key").to_hex() + ".mlxn"; }
  static mode_t mode_of(const std::string& path) {
    struct stat status = {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }

  std::string top_, folder_;
};

TEST_F(CacheTrustTest, FolderAndFilesAreForTheirOwnerAlone) {
  for (mode_t mask : {mode_t{0}, mode_t{002}, mode_t{022}, mode_t{0277}}) {
    const mode_t old = umask(mask);
    CacheStore store = make_store();
    write(store);
    umask(old);
    EXPECT_EQ(mode_of(folder_), 0700u) << mask;
    EXPECT_EQ(mode_of(entry()) & 077, 0u) << mask;
    EXPECT_TRUE(reads(store)) << mask;
    EXPECT_EQ(store.counters().failures, 0u) << mask;
    fs::remove_all(folder_);
  }
}

TEST_F(CacheTrustTest, FilesThatOthersCanWriteAreNotRead) {
  CacheStore store = make_store();
  write(store);
  ASSERT_TRUE(reads(store));
  for (mode_t mode : {mode_t{0620}, mode_t{0602}, mode_t{0666}}) {
    ASSERT_EQ(chmod(entry().c_str(), mode), 0);
    EXPECT_FALSE(reads(store)) << mode;
  }
  ASSERT_EQ(chmod(entry().c_str(), 0644), 0);
  EXPECT_TRUE(reads(store));
}

TEST_F(CacheTrustTest, FoldersThatOthersCanWriteAreNotRead) {
  CacheStore store = make_store();
  write(store);
  for (mode_t mode : {mode_t{0770}, mode_t{0707}, mode_t{01777}}) {
    ASSERT_EQ(chmod(folder_.c_str(), mode), 0);
    EXPECT_FALSE(reads(store)) << mode;
    EXPECT_FALSE(reads_anew()) << mode;
  }
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  EXPECT_TRUE(reads(store));
}

TEST_F(CacheTrustTest, LinksInPlaceOfFilesAreNotFollowed) {
  CacheStore store = make_store();
  write(store);
  fs::rename(entry(), top_ + "/elsewhere");
  fs::create_symlink(top_ + "/elsewhere", entry());
  EXPECT_FALSE(reads(store));
  write(store);  // takes the link's place
  EXPECT_TRUE(reads(store));
  EXPECT_FALSE(fs::is_symlink(entry()));
}

// The user may keep the folder elsewhere.
TEST_F(CacheTrustTest, TheFolderItselfMayBeALinkOfTheUser) {
  fs::create_directory(top_ + "/real");
  ASSERT_EQ(chmod((top_ + "/real").c_str(), 0700), 0);
  fs::create_symlink(top_ + "/real", folder_);
  CacheStore store = make_store();
  write(store);
  EXPECT_TRUE(reads(store));
}

TEST_F(CacheTrustTest, OtherThingsInPlaceOfFilesDoNotBlock) {
  CacheStore store = make_store();
  write(store);
  fs::remove(entry());
  ASSERT_EQ(mkfifo(entry().c_str(), 0600), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // ends a child that waits for a writer
    _exit(reads(store) ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  fs::remove(entry());
  fs::create_directory(entry());
  EXPECT_FALSE(reads(store));
  write(store);
  EXPECT_EQ(store.counters().failures, 1u);
}

// Only root can make files of others; without it there is nothing to be read that we did not write.
TEST_F(CacheTrustTest, FilesAndFoldersOfOthersAreNotRead) {
  CacheStore store = make_store();
  write(store);
  EXPECT_TRUE(reads(store));
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(entry().c_str(), 12345, 12345), 0);
  EXPECT_FALSE(reads(store));
  ASSERT_EQ(chown(entry().c_str(), 0, 0), 0);
  ASSERT_EQ(chown(folder_.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(reads(store));
  EXPECT_FALSE(reads_anew());
}

TEST_F(CacheTrustTest, ALeftOverTemporaryFileIsInNobodysWay) {
  CacheStore store = make_store();
  write(store);
  // The names of the next ones, as a process with the same number would have left them.
  for (int i = 0; i < 64; ++i) {
    const std::string name =
        folder_ + "/.new-" + std::to_string(getpid()) + "-" + std::to_string(i);
    fs::create_symlink("/nowhere/at/all", name);
  }
  fs::remove(entry());
  write(store);
  EXPECT_TRUE(reads(store));
}

}  // namespace
}  // namespace mlxn::rt
