#pragma once

#include <span>
#include <string_view>

namespace mlxn::msl {

// A file of metal/msl/stdlib (and kernel_abi.h), embedded by the build.
struct StdlibFile {
  std::string_view name;
  std::string_view text;
};

std::span<const StdlibFile> stdlib_files();

}  // namespace mlxn::msl
