#include "mlxn/io/mapped_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include "mlxn/io/cut_file_guard.h"
#include "tests/io/temp_folder.h"

namespace mlxn::io {
namespace {

using ::testing::HasSubstr;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(MappedFile, HasTheBytesOfTheFile) {
  TempFolder folder;
  auto file = MappedFile::open(folder.write("a", "hello world"));
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->size(), 11u);
  EXPECT_EQ(text_of(*file->bytes()), "hello world");
  EXPECT_EQ(text_of(*file->bytes(6, 5)), "world");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file->bytes()->data()) % 4096, 0u);
}

TEST(MappedFile, AnEmptyFileHasNoBytes) {
  TempFolder folder;
  auto file = MappedFile::open(folder.write("a", ""));
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->size(), 0u);
  ASSERT_TRUE(file->bytes());
  EXPECT_TRUE(file->bytes()->empty());
  EXPECT_FALSE(file->bytes(0, 1));
}

void expect_not_opened(const std::string& path, const std::string& message) {
  auto file = MappedFile::open(path);
  ASSERT_FALSE(file) << path;
  EXPECT_EQ(file.error().code(), ErrorCode::kIo);
  EXPECT_THAT(file.error().message(), HasSubstr(message));
  EXPECT_THAT(file.error().message(), HasSubstr(path));
}

TEST(MappedFile, SaysWhyAFileDoesNotOpen) {
  TempFolder folder;
  expect_not_opened(folder.path("missing"), "No such file");
  expect_not_opened(folder.path(""), "is a folder");
  expect_not_opened("", "No such file");
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_not_opened(pipe, "not a regular file");
  const std::string circle = folder.path("circle");
  std::filesystem::create_symlink(circle, circle);
  expect_not_opened(circle, "symbolic links");
}

TEST(MappedFile, PermissionIsNeeded) {
  TempFolder folder;
  const std::string path = folder.write("secret", "x");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  if (geteuid() != 0) {
    expect_not_opened(path, "Permission denied");
  } else {
    EXPECT_TRUE(MappedFile::open(path));  // root may read all files
  }
}

TEST(MappedFile, SpansOutsideAreRefused) {
  TempFolder folder;
  auto file = MappedFile::open(folder.write("a", "0123456789"));
  ASSERT_TRUE(file);
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  std::array<std::byte, 4> out;
  for (auto [offset, size] : {std::pair<uint64_t, uint64_t>{0, 11},
                              {10, 1},
                              {11, 0},
                              {kMax, 1},
                              {1, kMax},
                              {kMax, kMax}}) {
    auto bytes = file->bytes(offset, size);
    ASSERT_FALSE(bytes) << offset << " " << size;
    EXPECT_EQ(bytes.error().code(), ErrorCode::kOutOfRange);
  }
  EXPECT_TRUE(file->bytes(10, 0));
  EXPECT_FALSE(file->read(7, out));
  EXPECT_FALSE(file->read(kMax, out));
  EXPECT_TRUE(file->read(6, out));
  EXPECT_EQ(text_of(out), "6789");
}

TEST(MappedFile, AFileThatShrankIsAnError) {
  TempFolder folder;
  const std::string path = folder.write("a", std::string(100000, 'x'));
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  std::filesystem::resize_file(path, 10);
  auto bytes = file->bytes(0, 4);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code(), ErrorCode::kIo);
  EXPECT_THAT(bytes.error().message(), HasSubstr("has 10 bytes, expected 100000"));
  std::array<std::byte, 100> out;
  auto read = file->read(5, out);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::kIo);
  EXPECT_THAT(read.error().message(), HasSubstr("ends at 10"));
}

TEST(MappedFile, AFileThatGrewKeepsItsLength) {
  TempFolder folder;
  const std::string path = folder.write("a", "abc");
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  std::filesystem::resize_file(path, 5000);
  EXPECT_EQ(file->bytes()->size(), 3u);
}

TEST(MappedFile, AMoveTakesTheMapAlong) {
  TempFolder folder;
  auto first = MappedFile::open(folder.write("a", "first"));
  auto second = MappedFile::open(folder.write("b", "second"));
  ASSERT_TRUE(first && second);
  const auto* data = first->bytes()->data();
  *second = std::move(*first);
  EXPECT_EQ(second->bytes()->data(), data);
  EXPECT_EQ(text_of(*second->bytes()), "first");
}

TEST(MappedFile, LargerThanFourGigabytes) {
  TempFolder folder;
  const std::string path = folder.write("large", "");
  constexpr uint64_t kSize = (uint64_t{5} << 30) + 7;
  std::filesystem::resize_file(path, kSize);  // a hole: takes no room
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->size(), kSize);
  EXPECT_EQ((*file->bytes(kSize - 1, 1))[0], std::byte{0});
}

TEST(MappedFile, LostPagesReadAsZerosWhenAProgramWantsToSurvive) {
  TempFolder folder;
  const std::string path = folder.write("a", std::string(20000, 'x'));
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file) << file.error().to_string();
  const std::span<const std::byte> bytes = *file->bytes();
  survive_cut_files();
  ASSERT_TRUE(file->check_length());
  ASSERT_EQ(truncate(path.c_str(), 5000), 0);
  // What is left of its last page is zero, the pages behind it are gone.
  EXPECT_EQ(bytes[4999], std::byte{'x'});
  EXPECT_EQ(bytes[5000], std::byte{0});
  EXPECT_EQ(bytes[8192], std::byte{0});
  EXPECT_EQ(bytes[19999], std::byte{0});
  const Status status = file->check_length();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kIo);
  EXPECT_THAT(status.error().message(), HasSubstr("has 5000 bytes, expected 20000"));
}

TEST(MappedFileDeathTest, OtherBusErrorsEndTheProcessAsBefore) {
  TempFolder folder;
  const std::string path = folder.write("a", std::string(20000, 'x'));
  EXPECT_DEATH(
      {
        survive_cut_files();
        const int descriptor = ::open(path.c_str(), O_RDONLY);
        const auto* bytes = static_cast<const volatile char*>(
            ::mmap(nullptr, 20000, PROT_READ, MAP_SHARED, descriptor, 0));
        if (truncate(path.c_str(), 5000) == 0) std::exit(bytes[8192]);
      },
      "");
}

}  // namespace
}  // namespace mlxn::io
