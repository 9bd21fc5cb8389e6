// What the runtime has done, counted per device and over the whole process.
#pragma once

#include <atomic>
#include <cstdint>

namespace mlxn {

struct Counters {
  uint64_t syncs = 0;                    // blocking commits begun
  uint64_t dispatches = 0;               // dispatches encoded or captured; replays do not count
  uint64_t command_buffers = 0;          // encoders opened, and new stages of sessions
  uint64_t barriers = 0;                 // emitted to a live pass, automatic ones included
  uint64_t barrier_ns = 0;               // host time in emitting, with profile_barriers
  uint64_t auto_barriers = 0;            // emitted because of a hazard
  uint64_t auto_barrier_concurrent = 0;  // tracked dispatches that needed none
  uint64_t residency_allocations = 0;    // members of residency sets now
  uint64_t residency_commits = 0;        // times a set was applied

  Counters operator-(const Counters& earlier) const;
};

// Sums over all devices, alive and gone, since the last reset.
Counters process_counters();
// Zeroes the first seven for the process view; devices keep their own counts.
void reset_process_counters();

// The live side of Counters: relaxed atomics, one block for each device. Registers itself with the
// process view.
class CounterBlock {
 public:
  CounterBlock();
  ~CounterBlock();
  CounterBlock(const CounterBlock&) = delete;
  CounterBlock& operator=(const CounterBlock&) = delete;

  Counters snapshot() const;

  std::atomic<uint64_t> syncs{0}, dispatches{0}, command_buffers{0}, barriers{0}, barrier_ns{0},
      auto_barriers{0}, auto_barrier_concurrent{0}, residency_allocations{0}, residency_commits{0};
};

inline void bump(std::atomic<uint64_t>& counter, uint64_t by = 1) {
  counter.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace mlxn
