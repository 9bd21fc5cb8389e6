#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "metal/exec/cpu/scratch.h"
#include "metal/exec/cpu/waiting.h"

namespace mlxn::cpu {

constexpr unsigned kCaller = 0;  // the worker that a thread is that runs a job of its own

// Work that several threads share.
class Job {
 public:
  virtual ~Job() = default;
  // Takes part, until the job has ended, or, unless it is the caller that works, until there was
  // nothing to do for a while: then the result is false. Called from any number of threads at once,
  // each another worker, perhaps from none but the caller's.
  virtual bool work(unsigned worker, Scratch& scratch) = 0;
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

  // Polls `done` for as long as an idle thread spins. False when it did not come true.
  template <class Condition>
  bool spin(Condition done) const {
    return spin_for(spin_us_, done);
  }
  // Wakes as many sleeping workers as `helpers` to look for jobs, if about `cost_ns` of work on one
  // thread is worth it.
  void call_sleepers(unsigned helpers, uint64_t cost_ns);

 private:
  // Where a caller publishes its job. A worker counts itself in before it reads `job`; a caller
  // withdraws `job` before it reads `users`. So when users is 0, no one touches the job any more.
  struct alignas(64) Slot {
    std::atomic<Job*> job{nullptr};
    std::atomic<uint32_t> users{0};
    std::atomic<uint32_t> caller_sleeps{0};
    std::unique_ptr<Scratch> scratch;  // the caller's; made when it takes the place
    std::unique_ptr<Job> kept;         // Lease::kept
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
    void run_alone(Job& job) { job.work(kCaller, *slot_->scratch); }

    // A job that stays with the place, for the next caller; all callers have the same kind.
    template <class Kind>
    Kind& kept(WorkerPool& pool) {
      if (!slot_->kept) slot_->kept = std::make_unique<Kind>(pool);
      return static_cast<Kind&>(*slot_->kept);
    }

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
  void worker_main(unsigned worker);
  bool help(Slot& slot, unsigned worker, Scratch& scratch);
  void wait_for_change(uint32_t seen, bool spins);
  void wait_for_helpers(Slot& slot);

  const unsigned spin_us_;
  const MemoryGuard guard_;
  const int owner_;  // process that started the threads
  std::array<Slot, kSlots> slots_;
  std::mutex mutex_;
  alignas(64) std::atomic<uint32_t> epoch_{0};  // changes when there is work to look for
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
