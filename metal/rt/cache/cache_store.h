// Named blobs in a folder, for compiled kernels. Several threads and processes may use one folder.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlxn::rt {

// 128-bit hash of a key's text; the name of its file.
struct Digest {
  uint64_t high = 0, low = 0;
  bool operator==(const Digest&) const = default;
  std::string to_hex() const;
};
struct DigestHash {
  size_t operator()(const Digest& digest) const { return digest.low; }
};

Digest digest_of(std::string_view text, uint64_t seed = 0);

// An entry is one file: a header with magic, version, sizes and a checksum, then the full text of
// the key, then the data. It appears under its name complete or not at all. Nothing here fails:
// trouble with the disk is counted, told once in the log, and costs no more than the time to make
// the data again.
class CacheStore {
 public:
  struct Counters {
    std::atomic<uint64_t> hits{0}, misses{0}, writes{0}, failures{0}, evictions{0};
  };

  // An empty folder switches the store off. The folder is made on the first write.
  CacheStore(std::string folder, uint64_t max_bytes);

  // The data stored for `key`, if it is there and whole. A damaged entry is removed.
  std::optional<std::vector<uint8_t>> read(const Digest& digest, std::string_view key);
  // Replaces the entry. Afterwards removes the least recently used ones if the folder grew too
  // large.
  void write(const Digest& digest, std::string_view key, const std::vector<uint8_t>& data);
  // Removes an entry whose data turned out to be useless.
  void remove(const Digest& digest);

  const Counters& counters() const { return counters_; }
  const std::string& folder() const { return folder_; }
  uint64_t max_bytes() const { return max_bytes_; }

 private:
  // The folder, open, so that all of an operation happens in the one that was checked.
  class Folder {
   public:
    explicit Folder(int fd = -1) : fd_(fd) {}
    ~Folder();
    Folder(Folder&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Folder& operator=(Folder&&) = delete;
    bool is_open() const { return fd_ >= 0; }
    int descriptor() const { return fd_; }

   private:
    int fd_;
  };

  static std::string name_of(const Digest& digest);
  // Not open when it is not there or others can write it.
  Folder open_folder(bool make);
  void make_folder();
  std::optional<std::vector<uint8_t>> read_file(const Folder& folder, const std::string& name,
                                                std::string_view key);
  bool write_file(const Folder& folder, const std::string& name, std::string_view key,
                  const std::vector<uint8_t>& data);
  void account(uint64_t written);
  void evict();
  void complain(const std::string& what);

  const std::string folder_;
  const uint64_t max_bytes_;
  Counters counters_;
  std::atomic<bool> complained_{false};
  std::mutex size_mutex_;
  uint64_t size_estimate_ = 0;  // what the last look at the folder found, plus own writes
  uint64_t written_since_look_ = 0;
  bool looked_ = false;
};

}  // namespace mlxn::rt
