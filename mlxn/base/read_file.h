#pragma once

#include <string>

#include "mlxn/base/result.h"

namespace mlxn {

// The whole of a file, or of a pipe until its end. kIo with the path and the system's reason.
Result<std::string> read_file(const std::string& path);

}  // namespace mlxn
