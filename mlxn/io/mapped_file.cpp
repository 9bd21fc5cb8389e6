#include "mlxn/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/io/cut_file_guard.h"

namespace mlxn::io {
namespace {

Error system_error(const std::string& path, std::string_view what) {
  return Error(ErrorCode::kIo, str(path, ": ", what, ": ", std::strerror(errno)));
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  MappedFile file;
  file.path_ = path;
  // Not blocking: opening a pipe must not wait for a writer.
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.descriptor_ < 0) return system_error(path, "cannot open");
  struct stat info;
  if (::fstat(file.descriptor_, &info) != 0) return system_error(path, "cannot read its size");
  if (!S_ISREG(info.st_mode))
    return Error(ErrorCode::kIo,
                 str(path, S_ISDIR(info.st_mode) ? " is a folder" : " is not a regular file",
                     ", expected a file"));
  if (info.st_size == 0) return file;
  MLXN_ASSIGN(const auto length, checked_cast<size_t>(info.st_size));
  void* data = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file.descriptor_, 0);
  if (data == MAP_FAILED) return system_error(path, "cannot map into memory");
  file.data_ = static_cast<const std::byte*>(data);
  file.size_ = length;
  add_guarded_map(data, length);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept {
  *this = std::move(other);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this == &other) return *this;
  close();
  path_ = std::move(other.path_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

MappedFile::~MappedFile() {
  close();
}

void MappedFile::close() {
  if (data_) {
    remove_guarded_map(data_);
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status MappedFile::check_length() const {
  struct stat info;
  if (::fstat(descriptor_, &info) != 0) return system_error(path_, "cannot read its size");
  if (static_cast<uint64_t>(info.st_size) >= size_) return {};
  return Error(ErrorCode::kIo, str(path_, " has ", info.st_size, " bytes, expected ", size_,
                                   ": it was cut after it was opened"));
}

Result<std::span<const std::byte>> MappedFile::bytes() const {
  return bytes(0, size_);
}

Result<std::span<const std::byte>> MappedFile::bytes(uint64_t offset, uint64_t size) const {
  if (!span_fits(offset, size, size_))
    return Error(ErrorCode::kOutOfRange, str(path_, ": ", size, " bytes at ", offset,
                                             ", expected them inside ", size_, " bytes"));
  MLXN_TRY(check_length());
  return std::span<const std::byte>(data_ + offset, size);
}

Status MappedFile::read(uint64_t offset, std::span<std::byte> out) const {
  if (!span_fits(offset, out.size(), size_))
    return Error(ErrorCode::kOutOfRange, str(path_, ": ", out.size(), " bytes at ", offset,
                                             ", expected them inside ", size_, " bytes"));
  while (!out.empty()) {
    const size_t step = std::min<size_t>(out.size(), size_t{1} << 30);
    const ssize_t got = ::pread(descriptor_, out.data(), step, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path_, "cannot read");
    if (got == 0)
      return Error(ErrorCode::kIo, str(path_, " ends at ", offset, ", expected ", out.size(),
                                       " more bytes: it was cut after it was opened"));
    out = out.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return {};
}

}  // namespace mlxn::io
