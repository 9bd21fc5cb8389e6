#include "mlxn/core/counters.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace mlxn {
namespace {

Counters sum(Counters a, const Counters& b) {
  a.syncs += b.syncs;
  a.dispatches += b.dispatches;
  a.command_buffers += b.command_buffers;
  a.barriers += b.barriers;
  a.barrier_ns += b.barrier_ns;
  a.auto_barriers += b.auto_barriers;
  a.auto_barrier_concurrent += b.auto_barrier_concurrent;
  a.residency_allocations += b.residency_allocations;
  a.residency_commits += b.residency_commits;
  return a;
}

// Encoding touches only its device's block; the process view adds them up when asked.
struct Process {
  std::mutex mutex;
  std::vector<const CounterBlock*> blocks;
  Counters retired;   // of blocks that are gone
  Counters baseline;  // the sum at the last reset

  Counters total() const {
    Counters out = retired;
    for (const CounterBlock* block : blocks) out = sum(out, block->snapshot());
    return out;
  }
};

Process& process() {
  static Process* instance = new Process;  // never destroyed: devices may outlive static objects
  return *instance;
}

}  // namespace

Counters Counters::operator-(const Counters& earlier) const {
  Counters out = *this;
  out.syncs -= earlier.syncs;
  out.dispatches -= earlier.dispatches;
  out.command_buffers -= earlier.command_buffers;
  out.barriers -= earlier.barriers;
  out.barrier_ns -= earlier.barrier_ns;
  out.auto_barriers -= earlier.auto_barriers;
  out.auto_barrier_concurrent -= earlier.auto_barrier_concurrent;
  out.residency_allocations -= earlier.residency_allocations;
  out.residency_commits -= earlier.residency_commits;
  return out;
}

Counters process_counters() {
  Process& all = process();
  std::lock_guard lock(all.mutex);
  return all.total() - all.baseline;
}

void reset_process_counters() {
  Process& all = process();
  std::lock_guard lock(all.mutex);
  const Counters kept = all.baseline;
  all.baseline = all.total();
  all.baseline.residency_allocations = kept.residency_allocations;
  all.baseline.residency_commits = kept.residency_commits;
}

CounterBlock::CounterBlock() {
  std::lock_guard lock(process().mutex);
  process().blocks.push_back(this);
}

CounterBlock::~CounterBlock() {
  Process& all = process();
  std::lock_guard lock(all.mutex);
  std::erase(all.blocks, this);
  all.retired = sum(all.retired, snapshot());
}

Counters CounterBlock::snapshot() const {
  auto value = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  Counters out;
  out.syncs = value(syncs);
  out.dispatches = value(dispatches);
  out.command_buffers = value(command_buffers);
  out.barriers = value(barriers);
  out.barrier_ns = value(barrier_ns);
  out.auto_barriers = value(auto_barriers);
  out.auto_barrier_concurrent = value(auto_barrier_concurrent);
  out.residency_allocations = value(residency_allocations);
  out.residency_commits = value(residency_commits);
  return out;
}

}  // namespace mlxn
