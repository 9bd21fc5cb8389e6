// A file that appears under its name only when it is complete.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "mlxn/base/result.h"

namespace mlxn::io {

// Writes to a new file beside `path`; commit() gives it the name, replacing what was there. Without
// commit() the destructor removes it. All failures are kIo.
class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Status write(std::span<const std::byte> bytes);
  // Waits until the bytes are stored, then renames. To be called once, last.
  Status commit();

 private:
  OutputFile() = default;
  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

}  // namespace mlxn::io
