#include "metal/rt/cache/kernel_archive.h"

#include <mutex>
#include <set>
#include <shared_mutex>
#include <unordered_map>

#include "mlxn/base/byte_codec.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

constexpr std::string_view kMagic = "MLXNARC1";

struct Entry {
  std::string_view key;
  std::string_view data;
};

struct Archives {
  std::shared_mutex mutex;
  std::set<const void*> blocks;
  std::unordered_map<Digest, Entry, DigestHash> entries;
};

// Never destroyed: devices may end after it would be.
Archives& archives() {
  static auto& all = *new Archives;
  return all;
}

std::string_view as_text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::vector<uint8_t> serialize_archive(
    std::span<const std::pair<std::string, std::vector<uint8_t>>> entries) {
  ByteWriter writer;
  writer.raw(kMagic.data(), kMagic.size());
  writer.number(entries.size());
  for (const auto& [key, data] : entries) {
    writer.text(key);
    writer.text(as_text(data));
  }
  return std::move(writer.out);
}

Status add_archive(std::span<const uint8_t> block) {
  ByteReader reader(as_text(block));
  const bool known = reader.take(kMagic.size()) == kMagic;
  std::vector<Entry> found;
  for (uint64_t i = 0, n = reader.count(); i < n && reader.good; ++i) {
    const std::string_view key = reader.take(reader.number());
    found.push_back({key, reader.take(reader.number())});
  }
  if (!known || !reader.good || !reader.at_end()) {
    return Error(ErrorCode::kCorruptData, str("the archive of ", block.size(),
                                              " bytes is cut short, damaged, or does not "
                                              "begin with '",
                                              kMagic, "'"));
  }
  Archives& all = archives();
  std::unique_lock lock(all.mutex);
  if (!all.blocks.insert(block.data()).second) return {};
  for (const Entry& entry : found) all.entries.emplace(digest_of(entry.key), entry);
  return {};
}

std::optional<std::span<const uint8_t>> find_in_archives(const Digest& digest,
                                                         std::string_view key) {
  Archives& all = archives();
  std::shared_lock lock(all.mutex);
  const auto found = all.entries.find(digest);
  if (found == all.entries.end() || found->second.key != key) return std::nullopt;
  const std::string_view data = found->second.data;
  return std::span(reinterpret_cast<const uint8_t*>(data.data()), data.size());
}

bool has_archives() {
  Archives& all = archives();
  std::shared_lock lock(all.mutex);
  return !all.entries.empty();
}

}  // namespace mlxn::rt
