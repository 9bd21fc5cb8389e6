#include "mlxn/base/read_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "mlxn/base/strings.h"

namespace mlxn {

Result<std::string> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file) return Error(ErrorCode::kIo, str("cannot open '", path, "': ", std::strerror(errno)));
  std::string bytes;
  char part[1 << 16];
  while (const size_t size = std::fread(part, 1, sizeof(part), file.get()))
    bytes.append(part, size);
  if (std::ferror(file.get()))
    return Error(ErrorCode::kIo, str("cannot read '", path, "': ", std::strerror(errno)));
  return bytes;
}

}  // namespace mlxn
