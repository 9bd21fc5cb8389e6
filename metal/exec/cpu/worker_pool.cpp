#include "metal/exec/cpu/worker_pool.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "mlxn/base/clock.h"

namespace mlxn::cpu {
// All atomics here use the default, sequentially consistent order: each hand-over is a pair of a
// store by one side and a load by the other, in opposite order on both sides.

namespace {

constexpr uint64_t kWorthNs = 20'000;  // work that waking a thread is worth

}  // namespace

WorkerPool::WorkerPool(unsigned workers, unsigned spin_us, MemoryGuard guard)
    : spin_us_(spin_us), guard_(guard), owner_(getpid()) {
  for (unsigned i = 1; i < workers; ++i) threads_.emplace_back([this, i] { worker_main(i); });
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

void WorkerPool::worker_main(unsigned worker) {
  pthread_setname_np(pthread_self(), "mlxn-cpu");
  ScopedFloatModes modes;
  Scratch scratch(guard_);
  while (!stop_) {
    const uint32_t seen =
        epoch_;  // before the look round: what is published during it is not missed
    bool ended = true;
    for (Slot& slot : slots_) {
      if (slot.job.load(std::memory_order_relaxed)) ended &= help(slot, worker, scratch);
    }
    wait_for_change(seen, /*spins=*/ended);
  }
}

// False when the worker left a job that has not ended.
bool WorkerPool::help(Slot& slot, unsigned worker, Scratch& scratch) {
  bool ended = true;
  ++slot.users;
  if (Job* job = slot.job) ended = job->work(worker, scratch);
  if (--slot.users == 0 && slot.caller_sleeps) wake(slot.users, 1);
  return ended;
}

void WorkerPool::wait_for_change(uint32_t seen, bool spins) {
  if (spins && spin([&] { return epoch_.load(std::memory_order_relaxed) != seen; })) return;
  ++sleepers_;
  while (epoch_ == seen) sleep_while_equal(epoch_, seen);
  --sleepers_;
}

void WorkerPool::call_sleepers(unsigned helpers, uint64_t cost_ns) {
  if (cost_ns <= kWorthNs && sleepers_ == 0) return;
  if (!worth_waking(cost_ns)) return;
  ++epoch_;  // for those who are about to fall asleep as well
  if (sleepers_ > 0) wake(epoch_, helpers);
}

void WorkerPool::wait_for_helpers(Slot& slot) {
  if (spin([&] { return slot.users == 0; })) return;
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
  job.work(kCaller, *slot_->scratch);
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
