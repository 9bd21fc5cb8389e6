#include "metal/exec/cpu/worker_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "mlxn/base/clock.h"

namespace mlxn::cpu {
namespace {

// All atomics here use the default, sequentially consistent order: each hand-over is a pair of a
// store by one side and a load by the other, in opposite order on both sides.

void sleep_while_equal(std::atomic<uint32_t>& word, uint32_t value) {
  static_assert(sizeof(word) == sizeof(uint32_t));
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake(std::atomic<uint32_t>& word, unsigned count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Polls `done` for about `spin_us` microseconds. False when it did not come true.
template <class Condition>
bool spin(unsigned spin_us, Condition done) {
  if (done()) return true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(spin_us);
  do {
    for (int i = 0; i < 32; ++i) {
      pause();
      if (done()) return true;
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

WorkerPool::WorkerPool(unsigned workers, unsigned spin_us, MemoryGuard guard)
    : spin_us_(spin_us), guard_(guard), owner_(getpid()) {
  for (unsigned i = 1; i < workers; ++i) threads_.emplace_back([this] { worker_main(); });
}

WorkerPool::~WorkerPool() {
  if (getpid() != owner_) {
    // A forked child has a copy of the handles but not of the threads: leave the handles alone.
    new std::vector<std::thread>(std::move(threads_));
    return;
  }
  stop_ = true;
  ++epoch_;
  wake(epoch_, ~0u >> 1);
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::worker_main() {
  pthread_setname_np(pthread_self(), "mlxn-cpu");
  ScopedFloatModes modes;
  Scratch scratch(guard_);
  while (!stop_) {
    const uint32_t seen =
        epoch_;  // before the look round: what is published during it is not missed
    for (Slot& slot : slots_) {
      if (slot.job.load(std::memory_order_relaxed)) help(slot, scratch);
    }
    wait_for_change(seen);
  }
}

void WorkerPool::help(Slot& slot, Scratch& scratch) {
  ++slot.users;
  if (Job* job = slot.job) job->work(scratch);
  if (--slot.users == 0 && slot.caller_sleeps) wake(slot.users, 1);
}

void WorkerPool::wait_for_change(uint32_t seen) {
  if (spin(spin_us_, [&] { return epoch_.load(std::memory_order_relaxed) != seen; })) return;
  ++sleepers_;
  while (epoch_ == seen) sleep_while_equal(epoch_, seen);
  --sleepers_;
}

void WorkerPool::wait_for_helpers(Slot& slot) {
  if (spin(spin_us_, [&] { return slot.users == 0; })) return;
  slot.caller_sleeps = 1;
  for (uint32_t users = slot.users; users != 0; users = slot.users) {
    sleep_while_equal(slot.users, users);
  }
  slot.caller_sleeps = 0;
}

WorkerPool::Lease::Lease(WorkerPool& pool) : pool_(pool) {
  std::lock_guard lock(pool.mutex_);
  auto free = std::ranges::find(pool.slots_, false, &Slot::leased);
  if (free == pool.slots_.end()) {
    private_slot_ = std::make_unique<Slot>();
    slot_ = private_slot_.get();
  } else {
    slot_ = &*free;
  }
  if (!slot_->scratch) slot_->scratch = std::make_unique<Scratch>(pool.guard_);
  slot_->leased = true;
}

WorkerPool::Lease::~Lease() {
  std::lock_guard lock(pool_.mutex_);
  slot_->leased = false;
}

bool WorkerPool::worth_waking(uint64_t cost_ns) {
  constexpr uint64_t kWorthNs = 20'000;
  if (cost_ns > kWorthNs) return true;
  const uint64_t now = now_ns();
  const uint64_t pause = now - last_short_ns_.exchange(now, std::memory_order_relaxed);
  const bool often = pause < uint64_t{spin_us_} * 1000;
  const uint64_t work = cost_ns + (often ? short_work_ns_.load(std::memory_order_relaxed) : 0);
  const bool enough = work > kWorthNs;
  short_work_ns_.store(enough ? 0 : work, std::memory_order_relaxed);
  return enough;
}

void WorkerPool::Lease::run(Job& job, unsigned helpers, uint64_t cost_ns) {
  slot_->job = &job;
  ++pool_.epoch_;
  if (helpers > 0 && pool_.sleepers_ > 0 && pool_.worth_waking(cost_ns)) {
    wake(pool_.epoch_, helpers);
  }
  job.work(*slot_->scratch);
  slot_->job = nullptr;
  pool_.wait_for_helpers(*slot_);
}

#if defined(__x86_64__)
ScopedFloatModes::ScopedFloatModes() : saved_(_mm_getcsr()) {
  _mm_setcsr(0x1f80);
}
ScopedFloatModes::~ScopedFloatModes() {
  _mm_setcsr(saved_);
}
#else
ScopedFloatModes::ScopedFloatModes() = default;
ScopedFloatModes::~ScopedFloatModes() = default;
#endif

}  // namespace mlxn::cpu
