#pragma once

#include <sstream>
#include <string>

namespace mlxn {

// Joins its arguments into one string: str("index ", i, " is past ", n). (GCC 12 has no
// std::format.)
template <class... Args>
std::string str(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return std::move(out).str();
}

}  // namespace mlxn
