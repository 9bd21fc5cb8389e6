#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <unistd.h>

#include "apps/metal/tools.h"
#include "mlxn/base/read_file.h"
#include "mlxn/base/strings.h"

namespace mlxn::metal_tool {

int complain(const char* tool, const Error& error) {
  const std::string& text = error.message();
  // Diagnostics of the compiler say themselves where and what.
  const bool diagnostics = text.find(": error: ") != std::string::npos;
  std::fprintf(stderr, diagnostics ? "%s%s\n" : "%s: error: %s\n", diagnostics ? "" : tool,
               text.c_str());
  return 1;
}

Result<std::string> read_input(const std::string& path) {
  return read_file(path == "-" ? "/dev/stdin" : path);
}

namespace {

Status write_stream(std::FILE* out, std::string_view bytes, const std::string& name) {
  bool written = std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
  written &= std::fflush(out) == 0;
  if (written) return {};
  return Error(ErrorCode::kIo, str("cannot write '", name, "': ", std::strerror(errno)));
}

}  // namespace

Status write_file(const std::string& path, std::string_view bytes) {
  if (path == "-") return write_stream(stdout, bytes, "standard output");
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, failed);
  // A device such as /dev/null is written to, not replaced.
  const bool special = fs::exists(path, failed) && !fs::is_regular_file(path, failed);
  const std::string place = special ? path : str(path, ".", ::getpid(), ".tmp");
  std::FILE* out = std::fopen(place.c_str(), "wb");
  if (!out) return Error(ErrorCode::kIo, str("cannot write '", path, "': ", std::strerror(errno)));
  Status written = write_stream(out, bytes, path);
  if (std::fclose(out) != 0 && written)
    written = Error(ErrorCode::kIo, str("cannot write '", path, "': ", std::strerror(errno)));
  if (special) return written;
  if (written) {
    fs::rename(place, path, failed);
    if (!failed) return {};
    written = Error(ErrorCode::kIo, str("cannot write '", path, "': ", failed.message()));
  }
  fs::remove(place, failed);
  return written;
}

}  // namespace mlxn::metal_tool
