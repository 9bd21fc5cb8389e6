// A file seen as bytes in memory, without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mlxn/base/result.h"

namespace mlxn::io {

// Read-only map of a regular file. The bytes start at a page boundary and live as long as the
// object. Thread-safe after open().
//
// Another process may cut the file while it is mapped; touching the lost pages would end this
// process. bytes() and read() ask the system for the length first and fail with kIo when the file
// became shorter. A file cut between that check and the access is beyond what a map can notice:
// who must survive that uses read(), which copies through the file and never touches the map, or
// calls survive_cut_files() once and check_length() after the access.
class MappedFile {
 public:
  // kIo when the path is missing, not a regular file, or may not be read.
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }  // at open()

  // All bytes; empty for an empty file.
  Result<std::span<const std::byte>> bytes() const;
  // Part of them. kOutOfRange when it is not inside the file.
  Result<std::span<const std::byte>> bytes(uint64_t offset, uint64_t size) const;
  // Copies out.size() bytes from `offset`.
  Status read(uint64_t offset, std::span<std::byte> out) const;
  // kIo when the file is shorter now than at open().
  Status check_length() const;

 private:
  MappedFile() = default;
  void close();

  std::string path_;
  int descriptor_ = -1;
  const std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace mlxn::io
