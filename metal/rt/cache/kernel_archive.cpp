#include "metal/rt/cache/kernel_archive.h"

#include <zstd.h>

#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <unordered_map>

#include "mlxn/base/byte_codec.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

// A block is: the magic; frames, each the length of its data, and the data compressed; entries,
// each two digests of its key, the number of its frame, and where its data lies in that.
constexpr std::string_view kMagic = "MLXNARC2";
constexpr uint64_t kSecondSeed = 0x617263686976;  // of the digest that stands for the key's text
constexpr uint64_t kFrameBytes = 256 << 10;       // a frame takes entries up to here
constexpr uint64_t kMostFrameBytes = 1 << 30;
constexpr int kCompression = 19;
constexpr size_t kUnpackedFrames = 4;  // kept: kernels of a file are asked for one by one

struct Frame {
  std::string_view packed;
  uint64_t length = 0;
};

struct Entry {
  Digest second;
  const Frame* frame;
  uint64_t offset, size;
};

using Bytes = std::shared_ptr<const std::vector<uint8_t>>;

class Archives {
 public:
  Status add(std::span<const uint8_t> block);
  const Entry* find(const Digest& digest, std::string_view key);
  Bytes unpacked(const Frame& frame);
  bool empty() {
    std::shared_lock lock(mutex_);
    return entries_.empty();
  }

 private:
  std::shared_mutex mutex_;
  std::set<const void*> blocks_;
  std::deque<Frame> frames_;  // stay where they are
  std::unordered_map<Digest, Entry, DigestHash> entries_;

  std::mutex unpacked_mutex_;
  std::list<std::pair<const Frame*, Bytes>> unpacked_;  // most recently used first
};

// Never destroyed: devices may end after it would be.
Archives& archives() {
  static auto& all = *new Archives;
  return all;
}

std::string_view as_text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Digest read_digest(ByteReader& reader) {
  const uint64_t high = reader.number();
  return {high, reader.number()};
}

void write_digest(ByteWriter& writer, const Digest& digest) {
  writer.number(digest.high);
  writer.number(digest.low);
}

Result<std::vector<uint8_t>> compress(const std::vector<uint8_t>& data) {
  std::vector<uint8_t> out(ZSTD_compressBound(data.size()));
  const size_t size = ZSTD_compress(out.data(), out.size(), data.data(), data.size(), kCompression);
  if (ZSTD_isError(size)) {
    return Error(ErrorCode::kInternal,
                 str("cannot compress ", data.size(), " bytes: ", ZSTD_getErrorName(size)));
  }
  out.resize(size);
  return out;
}

Status Archives::add(std::span<const uint8_t> block) {
  ByteReader reader(as_text(block));
  bool good = reader.take(kMagic.size()) == kMagic;
  std::vector<Frame> frames(reader.count());
  for (Frame& frame : frames) {
    frame.length = reader.number();
    frame.packed = reader.take(reader.number());
    good = good && frame.length <= kMostFrameBytes &&
           ZSTD_getFrameContentSize(frame.packed.data(), frame.packed.size()) == frame.length;
  }
  struct Found {
    Digest digest;
    Entry entry;
    uint64_t frame;
  };
  std::vector<Found> found(good ? reader.count() : 0);
  for (Found& one : found) {
    one.digest = read_digest(reader);
    one.entry.second = read_digest(reader);
    one.frame = reader.number();
    one.entry.offset = reader.number();
    one.entry.size = reader.number();
    good = good && reader.good && one.frame < frames.size();
    if (!good) break;
    const uint64_t length = frames[one.frame].length;
    good = one.entry.offset <= length && one.entry.size <= length - one.entry.offset;
  }
  if (!good || !reader.good || !reader.at_end()) {
    return Error(ErrorCode::kCorruptData, str("the archive of ", block.size(),
                                              " bytes is cut short, damaged, or does not "
                                              "begin with '",
                                              kMagic, "'"));
  }
  std::unique_lock lock(mutex_);
  if (!blocks_.insert(block.data()).second) return {};
  const size_t first = frames_.size();
  frames_.insert(frames_.end(), frames.begin(), frames.end());
  for (Found& one : found) {
    one.entry.frame = &frames_[first + one.frame];
    entries_.emplace(one.digest, one.entry);
  }
  return {};
}

const Entry* Archives::find(const Digest& digest, std::string_view key) {
  std::shared_lock lock(mutex_);
  const auto found = entries_.find(digest);
  if (found == entries_.end() || found->second.second != digest_of(key, kSecondSeed))
    return nullptr;
  return &found->second;  // entries are never removed
}

Bytes Archives::unpacked(const Frame& frame) {
  std::lock_guard lock(unpacked_mutex_);
  const auto known = std::ranges::find(unpacked_, &frame, &decltype(unpacked_)::value_type::first);
  if (known != unpacked_.end()) {
    unpacked_.splice(unpacked_.begin(), unpacked_, known);
    return unpacked_.front().second;
  }
  std::vector<uint8_t> data(frame.length);
  const size_t size =
      ZSTD_decompress(data.data(), data.size(), frame.packed.data(), frame.packed.size());
  if (size != frame.length) return nullptr;  // an error's number is larger than any length
  unpacked_.emplace_front(&frame, std::make_shared<const std::vector<uint8_t>>(std::move(data)));
  if (unpacked_.size() > kUnpackedFrames) unpacked_.pop_back();
  return unpacked_.front().second;
}

}  // namespace

Result<std::vector<uint8_t>> serialize_archive(
    std::span<const std::pair<std::string, std::vector<uint8_t>>> entries) {
  ByteWriter frames, index;
  uint64_t frame_count = 0;
  std::vector<uint8_t> frame;
  const auto finish_frame = [&]() -> Status {
    MLXN_ASSIGN(const std::vector<uint8_t> packed, compress(frame));
    frames.number(frame.size());
    frames.text(as_text(packed));
    ++frame_count;
    frame.clear();
    return {};
  };
  for (const auto& [key, data] : entries) {
    if (frame.size() >= kFrameBytes) MLXN_TRY(finish_frame());
    write_digest(index, digest_of(key));
    write_digest(index, digest_of(key, kSecondSeed));
    index.number(frame_count);
    index.number(frame.size());
    index.number(data.size());
    frame.insert(frame.end(), data.begin(), data.end());
  }
  if (!entries.empty()) MLXN_TRY(finish_frame());
  ByteWriter writer;
  writer.raw(kMagic.data(), kMagic.size());
  writer.number(frame_count);
  writer.raw(frames.out.data(), frames.out.size());
  writer.number(entries.size());
  writer.raw(index.out.data(), index.out.size());
  return std::move(writer.out);
}

Status add_archive(std::span<const uint8_t> block) {
  return archives().add(block);
}

bool archives_have(const Digest& digest, std::string_view key) {
  return archives().find(digest, key) != nullptr;
}

std::optional<std::vector<uint8_t>> find_in_archives(const Digest& digest, std::string_view key) {
  const Entry* entry = archives().find(digest, key);
  if (!entry) return std::nullopt;
  const Bytes bytes = archives().unpacked(*entry->frame);
  if (!bytes) return std::nullopt;
  const auto begin = bytes->begin() + static_cast<ptrdiff_t>(entry->offset);
  return std::vector<uint8_t>(begin, begin + static_cast<ptrdiff_t>(entry->size));
}

bool has_archives() {
  return !archives().empty();
}

}  // namespace mlxn::rt
