#include "mlxn/io/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include "mlxn/base/strings.h"

namespace mlxn::io {
namespace {

Error system_error(const std::string& path, std::string_view what) {
  return Error(ErrorCode::kIo, str(path, ": ", what, ": ", std::strerror(errno)));
}

// Names that a process before this one may have left are passed over.
constexpr int kNameTries = 1000;

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  static std::atomic<uint64_t> counter;
  OutputFile file;
  file.path_ = path;
  for (int i = 0; i < kNameTries; ++i) {
    std::string name = str(path, ".part-", ::getpid(), "-", counter++);
    file.descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.descriptor_ >= 0) {
      file.temporary_ = std::move(name);
      return file;
    }
    if (errno != EEXIST) break;
  }
  return system_error(path, "cannot create a file beside it");
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t step = std::min<size_t>(bytes.size(), size_t{1} << 30);
    const ssize_t done = ::write(descriptor_, bytes.data(), step);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_error(path_, "cannot write");
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return {};
}

Status OutputFile::commit() {
  if (::fsync(descriptor_) != 0) return system_error(path_, "cannot store");
  if (::close(std::exchange(descriptor_, -1)) != 0) return system_error(path_, "cannot close");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
    return system_error(path_, "cannot rename to it");
  temporary_.clear();
  return {};
}

}  // namespace mlxn::io
