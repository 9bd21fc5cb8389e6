#include "metal/exec/cpu/watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "mlxn/base/clock.h"

namespace mlxn::cpu {
namespace {

// A thread between two kernels, or in a function they share, is missed by an interrupt.
constexpr uint64_t kAgainNs = 1'000'000;
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

}  // namespace

Watchdog::Watchdog(uint32_t limit_ms)
    : limit_ms_(limit_ms), owner_(getpid()), thread_([this] { main(); }) {}

Watchdog::~Watchdog() {
  if (getpid() != owner_) {
    // A forked child has a copy of the handle but not of the thread: leave the handle alone.
    new std::thread(std::move(thread_));
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Watchdog::Watch::Watch(Watchdog* dog) : dog_(dog) {
  if (!dog_) return;
  deadline_ns_ = now_ns() + uint64_t{dog_->limit_ms_} * 1'000'000;
  const std::lock_guard lock(dog_->mutex_);
  dog_->watches_.push_back(this);
  dog_->changed_.notify_one();
}

Watchdog::Watch::~Watch() {
  if (!dog_) return;
  const std::lock_guard lock(dog_->mutex_);
  std::erase(dog_->watches_, this);
}

uint64_t Watchdog::look(uint64_t now) {
  uint64_t next = kNever;
  for (Watch* watch : watches_) {
    if (now >= watch->deadline_ns_) {
      watch->flag_ = true;
      interrupt_guarded(watch->flag_);
      next = std::min(next, now + kAgainNs);
    } else {
      next = std::min(next, watch->deadline_ns_);
    }
  }
  return next;
}

void Watchdog::main() {
  std::unique_lock lock(mutex_);
  while (!end_) {
    const uint64_t now = now_ns(), next = look(now);
    if (next == kNever) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, std::chrono::nanoseconds(next - now));
    }
  }
}

}  // namespace mlxn::cpu
