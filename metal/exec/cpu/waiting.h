// How threads wait for a number in memory to change: spinning, then asleep.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace mlxn::cpu {

inline void sleep_while_equal(std::atomic<uint32_t>& word, uint32_t value) {
  static_assert(sizeof(word) == sizeof(uint32_t));
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

inline void wake(std::atomic<uint32_t>& word, unsigned count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

inline void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Polls `done` so many times, with a pause before each. False when it did not come true.
template <class Condition>
bool poll(int times, Condition done) {
  for (int i = 0; i < times; ++i) {
    pause();
    if (done()) return true;
  }
  return false;
}

// Polls `done` for about `spin_us` microseconds. False when it did not come true.
template <class Condition>
bool spin_for(unsigned spin_us, Condition done) {
  constexpr int kPolls = 32;  // between looks at the clock, which take as long as some
  if (done()) return true;
  if (spin_us == 0) return false;
  if (poll(kPolls, done)) return true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(spin_us);
  do {
    if (poll(kPolls, done)) return true;
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace mlxn::cpu
