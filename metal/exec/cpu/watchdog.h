#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "metal/exec/cpu/kernel_guard.h"

namespace mlxn::cpu {

// Stops command lists that run longer than a limit. Thread-safe.
class Watchdog {
 public:
  explicit Watchdog(uint32_t limit_ms);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  uint32_t limit_ms() const { return limit_ms_; }

  // Watches over a list from its start to its end: sets the flag and interrupts its kernels when
  // the time is over.
  class Watch {
   public:
    explicit Watch(Watchdog* dog);  // null: nobody watches
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    const StopFlag* flag() const { return dog_ ? &flag_ : nullptr; }

   private:
    friend class Watchdog;
    Watchdog* const dog_;
    StopFlag flag_{false};
    uint64_t deadline_ns_ = 0;
  };

 private:
  void main();
  uint64_t look(uint64_t now_ns);  // stops what is late; the time of the next look

  const uint32_t limit_ms_;
  const int owner_;  // process that started the thread
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watch*> watches_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace mlxn::cpu
