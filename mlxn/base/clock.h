#pragma once

#include <chrono>
#include <cstdint>

namespace mlxn {

// Nanoseconds on the host's steady clock.
inline uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace mlxn
