#include "metal/rt/cache/cache_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

#include "mlxn/base/log.h"
#include "mlxn/base/strings.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mlxn::rt {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMagic = 0x314548434e584c4d;  // "MLXNCHE1"
constexpr uint32_t kVersion = 1;
constexpr uint64_t kMaxEntryBytes = uint64_t{1} << 31;
constexpr std::string_view kSuffix = ".mlxn";
constexpr std::string_view kTemporaryPrefix = ".new-";
constexpr int64_t kTouchAfterSeconds = 600;       // how exact "recently used" is
constexpr int64_t kAbandonedAfterSeconds = 3600;  // temporary files of processes that died

struct Header {
  uint64_t magic = kMagic;
  uint32_t version = kVersion;
  uint32_t reserved = 0;
  uint64_t key_bytes = 0, data_bytes = 0;
  Digest checksum;  // of key and data
};
static_assert(sizeof(Header) == 48);

Digest to_digest(XXH128_hash_t hash) {
  return {hash.high64, hash.low64};
}

// Whether others cannot write what this describes; root may.
bool is_trusted(const struct stat& status) {
  return (status.st_uid == geteuid() || status.st_uid == 0) && (status.st_mode & 022) == 0;
}

class File {
 public:
  // A file in a folder, never what a link there points to, and without waiting for another process.
  File(int folder, const std::string& name, int flags)
      : fd_(openat(folder, name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool is_open() const { return fd_ >= 0; }
  int descriptor() const { return fd_; }

  bool read_all(void* data, size_t size) {
    auto* at = static_cast<uint8_t*>(data);
    while (size > 0) {
      const ssize_t n = ::read(fd_, at, size);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      at += n;
      size -= static_cast<size_t>(n);
    }
    return true;
  }
  bool write_all(const void* data, size_t size) {
    auto* at = static_cast<const uint8_t*>(data);
    while (size > 0) {
      const ssize_t n = ::write(fd_, at, size);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      at += n;
      size -= static_cast<size_t>(n);
    }
    return true;
  }
  // Closing may be what reports a full disk.
  bool finish() {
    const int fd = std::exchange(fd_, -1);
    return close(fd) == 0;
  }

 private:
  int fd_;
};

// What a file holds behind its header, if header and checksum fit.
std::optional<std::vector<uint8_t>> read_body(File& file, uint64_t file_bytes, Header& header) {
  if (file_bytes < sizeof(Header) || file_bytes > kMaxEntryBytes) return std::nullopt;
  if (!file.read_all(&header, sizeof(header))) return std::nullopt;
  const uint64_t body_bytes = file_bytes - sizeof(Header);
  if (header.magic != kMagic || header.version != kVersion || header.key_bytes > body_bytes ||
      header.data_bytes != body_bytes - header.key_bytes) {
    return std::nullopt;
  }
  std::vector<uint8_t> body(body_bytes);
  if (!file.read_all(body.data(), body.size())) return std::nullopt;
  if (to_digest(XXH3_128bits(body.data(), body.size())) != header.checksum) return std::nullopt;
  return body;
}

}  // namespace

std::string Digest::to_hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (uint64_t word : {high, low}) {
    for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[word >> shift & 15];
  }
  return out;
}

Digest digest_of(std::string_view text, uint64_t seed) {
  return to_digest(XXH3_128bits_withSeed(text.data(), text.size(), seed));
}

CacheStore::CacheStore(std::string folder, uint64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {}

std::string CacheStore::name_of(const Digest& digest) {
  return str(digest.to_hex(), kSuffix);
}

// Code is taken only from files that this user or root alone can write, in a folder of that kind.
std::optional<std::vector<uint8_t>> CacheStore::read(const Digest& digest, std::string_view key) {
  const Folder folder = open_folder(false);
  auto data = folder.is_open() ? read_file(folder, name_of(digest), key) : std::nullopt;
  ++(data ? counters_.hits : counters_.misses);
  return data;
}

std::optional<std::vector<uint8_t>> CacheStore::read_file(const Folder& folder,
                                                          const std::string& name,
                                                          std::string_view key) {
  File file(folder.descriptor(), name, O_RDONLY);
  struct stat status{};
  if (!file.is_open() || fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode) ||
      !is_trusted(status)) {
    return std::nullopt;
  }
  Header header;
  auto body = read_body(file, static_cast<uint64_t>(status.st_size), header);
  if (!body) {
    ++counters_.failures;
    unlinkat(folder.descriptor(), name.c_str(), 0);
    log(LogLevel::kInfo, str("removed the damaged cache entry ", name, " in ", folder_));
    return std::nullopt;
  }
  const std::string_view stored(reinterpret_cast<const char*>(body->data()), header.key_bytes);
  if (stored != key) return std::nullopt;  // another key with the same hash
  body->erase(body->begin(), body->begin() + static_cast<std::ptrdiff_t>(header.key_bytes));
  if (std::time(nullptr) - status.st_mtime > kTouchAfterSeconds)
    futimens(file.descriptor(), nullptr);
  return body;
}

void CacheStore::write(const Digest& digest, std::string_view key,
                       const std::vector<uint8_t>& data) {
  const uint64_t total = sizeof(Header) + key.size() + data.size();
  if (folder_.empty() || total > std::min(max_bytes_, kMaxEntryBytes)) return;
  const Folder folder = open_folder(true);
  if (!folder.is_open() || !write_file(folder, name_of(digest), key, data)) {
    ++counters_.failures;
    return;
  }
  ++counters_.writes;
  account(total);
}

void CacheStore::remove(const Digest& digest) {
  ++counters_.failures;
  const Folder folder = open_folder(false);
  if (folder.is_open()) unlinkat(folder.descriptor(), name_of(digest).c_str(), 0);
}

CacheStore::Folder::~Folder() {
  if (fd_ >= 0) close(fd_);
}

CacheStore::Folder CacheStore::open_folder(bool make) {
  if (folder_.empty()) return Folder();
  if (make) make_folder();
  struct stat link{};
  Folder folder(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status{};
  if (!folder.is_open() || fstat(folder.descriptor(), &status) != 0 ||
      lstat(folder_.c_str(), &link) != 0) {
    if (make) complain(str("cannot open the folder: ", std::strerror(errno)));
    return Folder();
  }
  const bool own_link = link.st_uid == geteuid() || link.st_uid == 0;
  if (is_trusted(status) && own_link) return folder;
  complain(str("the folder can be written by other users (owner ", status.st_uid, ", mode ",
               std::oct, status.st_mode & 07777, "), expected its owner ", std::dec, geteuid(),
               " alone"));
  return Folder();
}

// For its owner alone, whatever the process's mask for new files says.
void CacheStore::make_folder() {
  std::error_code error;
  fs::create_directories(fs::path(folder_).parent_path(), error);
  if (mkdir(folder_.c_str(), 0700) == 0) chmod(folder_.c_str(), 0700);
}

bool CacheStore::write_file(const Folder& folder, const std::string& name, std::string_view key,
                            const std::vector<uint8_t>& data) {
  static std::atomic<uint64_t> next{0};
  const std::string temporary = str(kTemporaryPrefix, getpid(), "-", next++);
  Header header;
  header.key_bytes = key.size();
  header.data_bytes = data.size();
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, key.data(), key.size());
  XXH3_128bits_update(&state, data.data(), data.size());
  header.checksum = to_digest(XXH3_128bits_digest(&state));

  unlinkat(folder.descriptor(), temporary.c_str(), 0);  // of a process that had the same number
  File file(folder.descriptor(), temporary, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.is_open()) {
    complain(std::strerror(errno));
    return false;
  }
  fchmod(file.descriptor(), 0600);
  const bool written =
      file.write_all(&header, sizeof(header)) && file.write_all(key.data(), key.size()) &&
      file.write_all(data.data(), data.size()) && file.finish() &&
      renameat(folder.descriptor(), temporary.c_str(), folder.descriptor(), name.c_str()) == 0;
  if (!written) {
    complain(std::strerror(errno));
    unlinkat(folder.descriptor(), temporary.c_str(), 0);
  }
  return written;
}

void CacheStore::complain(const std::string& what) {
  if (complained_.exchange(true)) return;
  log(LogLevel::kWarning, str("cannot keep compiled kernels in ", folder_, ": ", what,
                              "; they are compiled each time"));
}

// Looks at the folder before the first decision and then once in a while, since other processes
// write there too.
void CacheStore::account(uint64_t written) {
  std::lock_guard lock(size_mutex_);
  size_estimate_ += written;
  written_since_look_ += written;
  if (!looked_ || size_estimate_ > max_bytes_ || written_since_look_ > max_bytes_ / 8) evict();
}

void CacheStore::evict() {
  struct Entry {
    fs::path path;
    uint64_t size;
    int64_t used;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  const int64_t now = std::time(nullptr);
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    struct stat status{};
    if (lstat(it->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (name.starts_with(kTemporaryPrefix)) {
      if (now - status.st_mtime > kAbandonedAfterSeconds) unlink(it->path().c_str());
    } else if (name.ends_with(kSuffix)) {
      const auto size = static_cast<uint64_t>(status.st_size);
      entries.push_back(
          {it->path(), size, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec});
      total += size;
    }
  }
  if (total > max_bytes_) {
    // Down to seven eighths, so that the next look is some time away.
    std::ranges::sort(entries, {}, &Entry::used);
    for (const Entry& entry : entries) {
      if (total <= max_bytes_ - max_bytes_ / 8) break;
      if (unlink(entry.path.c_str()) == 0) ++counters_.evictions;
      total -= entry.size;
    }
  }
  size_estimate_ = total;
  written_since_look_ = 0;
  looked_ = true;
}

}  // namespace mlxn::rt
