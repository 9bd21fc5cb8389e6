#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "metal/exec/cpu/scratch.h"

namespace mlxn::cpu {

// Work that several threads share. work() takes pieces until none is left; it is called from any
// number of threads at once, perhaps from none but the caller's.
class Job {
 public:
  virtual ~Job() = default;
  virtual void work(Scratch& scratch) = 0;
};

// Threads that help callers with their jobs. An idle thread spins for a while, then sleeps.
class WorkerPool {
 public:
  // `workers` counts the calling thread: one means that no thread is started. The guard is
  // that of scratch memory.
  WorkerPool(unsigned workers, unsigned spin_us, MemoryGuard guard);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  unsigned workers() const { return static_cast<unsigned>(threads_.size()) + 1; }

 private:
  // Where a caller publishes its job. A worker counts itself in before it reads `job`; a caller
  // withdraws `job` before it reads `users`. So when users is 0, no one touches the job any more.
  struct alignas(64) Slot {
    std::atomic<Job*> job{nullptr};
    std::atomic<uint32_t> users{0};
    std::atomic<uint32_t> caller_sleeps{0};
    std::unique_ptr<Scratch> scratch;  // the caller's; made when it takes the place
    bool leased = false;               // guarded by mutex_
  };

 public:
  // A caller's place in the pool while it runs a list. Callers beyond the number of places get one
  // that no worker sees, and run alone.
  class Lease {
   public:
    explicit Lease(WorkerPool& pool);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    // Runs the job, of about `cost_ns` on one thread, to its end; the calling thread takes part.
    // Spinning workers join; sleeping ones are woken, as many as `helpers`, where that pays.
    void run(Job& job, unsigned helpers, uint64_t cost_ns);
    // Runs the job on the calling thread alone.
    void run_alone(Job& job) { job.work(*slot_->scratch); }

   private:
    WorkerPool& pool_;
    Slot* slot_ = nullptr;
    std::unique_ptr<Slot> private_slot_;
  };

 private:
  static constexpr size_t kSlots = 32;

  // Whether sleeping workers should be woken: for a long job, or for short ones that come so often
  // that who wakes for one is still awake for the next.
  bool worth_waking(uint64_t cost_ns);
  void worker_main();
  void help(Slot& slot, Scratch& scratch);
  void wait_for_change(uint32_t seen);
  void wait_for_helpers(Slot& slot);

  const unsigned spin_us_;
  const MemoryGuard guard_;
  const int owner_;  // process that started the threads
  std::array<Slot, kSlots> slots_;
  std::mutex mutex_;
  alignas(64) std::atomic<uint32_t> epoch_{0};  // changes with each published job
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> stop_{false};
  // Short jobs of late, for worth_waking: a hint, so updates may get lost.
  std::atomic<uint64_t> last_short_ns_{0}, short_work_ns_{0};
  std::vector<std::thread> threads_;
};

// Sets the floating-point modes kernels expect (round to nearest, subnormals kept) and puts the
// thread's own back, so that results do not depend on which thread runs a piece.
class ScopedFloatModes {
 public:
  ScopedFloatModes();
  ~ScopedFloatModes();
  ScopedFloatModes(const ScopedFloatModes&) = delete;
  ScopedFloatModes& operator=(const ScopedFloatModes&) = delete;

 private:
  unsigned saved_ = 0;
};

}  // namespace mlxn::cpu
