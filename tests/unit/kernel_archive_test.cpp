#include "metal/rt/cache/kernel_archive.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

using Entries = std::vector<std::pair<std::string, std::vector<uint8_t>>>;

// Keys that no other test uses; data that neither vanishes when compressed nor stays as it is.
Entries make_entries(const std::string& name, size_t count, size_t bytes) {
  Entries out;
  uint32_t state = 1;
  for (size_t i = 0; i < count; ++i) {
    std::vector<uint8_t> data(bytes + i);
    for (uint8_t& byte : data) {
      state = state * 1664525 + 1013904223;
      byte = static_cast<uint8_t>(state >> 28);
    }
    out.emplace_back(str(name, " ", i), std::move(data));
  }
  return out;
}

// Archives stay in memory for good.
const std::vector<uint8_t>& keep(std::vector<uint8_t> block) {
  static auto& all = *new std::vector<std::unique_ptr<std::vector<uint8_t>>>;
  return *all.emplace_back(std::make_unique<std::vector<uint8_t>>(std::move(block)));
}

std::optional<std::vector<uint8_t>> find(const std::string& key) {
  return find_in_archives(digest_of(key), key);
}

TEST(KernelArchive, GivesBackWhatItGot) {
  // Frames of several entries, more frames than are kept unpacked, and an entry without a byte.
  Entries entries = make_entries("round trip", 30, 100'000);
  entries.emplace_back("round trip nothing", std::vector<uint8_t>());
  const auto block = serialize_archive(entries);
  ASSERT_TRUE(block) << block.error().to_string();
  EXPECT_LT(block->size(), 30 * 100'000 * 6 / 10);
  ASSERT_TRUE(add_archive(keep(*block)));
  EXPECT_TRUE(has_archives());
  for (int round = 0; round < 2; ++round) {
    for (const auto& [key, data] : entries) {
      EXPECT_TRUE(archives_have(digest_of(key), key));
      EXPECT_EQ(find(key), data) << key;
    }
  }
  EXPECT_FALSE(find("round trip 31"));
  // The digest of one key with the text of another.
  EXPECT_FALSE(archives_have(digest_of("round trip 1"), "round trip 2"));
}

TEST(KernelArchive, IsReadByManyThreads) {
  const Entries entries = make_entries("threads", 20, 70'000);
  ASSERT_TRUE(add_archive(keep(*serialize_archive(entries))));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 60; ++i) {
        const auto& [key, data] = entries[(i * 7 + t * 5) % entries.size()];
        EXPECT_EQ(find(key), data);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(KernelArchive, RefusesEveryCutAndForeignBytes) {
  const std::vector<uint8_t> block = *serialize_archive(make_entries("cut", 3, 50));
  for (size_t size = 0; size < block.size(); ++size) {
    const Status status = add_archive(keep({block.begin(), block.begin() + ptrdiff_t(size)}));
    ASSERT_FALSE(status) << size;
    EXPECT_EQ(status.error().code(), ErrorCode::kCorruptData);
  }
  std::vector<uint8_t> longer = block;
  longer.push_back(0);
  EXPECT_FALSE(add_archive(keep(longer)));
  EXPECT_FALSE(find("cut 0"));
}

// Whatever byte is wrong: refused, or other data, or none; no crash.
TEST(KernelArchive, SurvivesEveryWrongByte) {
  for (size_t at = 0;; ++at) {
    std::vector<uint8_t> block = *serialize_archive(make_entries("wrong byte", 3, 50));
    if (at == block.size()) break;
    block[at] ^= 0x81;
    if (!add_archive(keep(block))) continue;
    for (const char* key : {"wrong byte 0", "wrong byte 1", "wrong byte 2"}) find(key);
  }
}

}  // namespace
}  // namespace mlxn::rt
