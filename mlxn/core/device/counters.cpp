#include "mlxn/core/device/counters.h"

#include <mutex>
#include <vector>

namespace mlxn {
namespace {

struct Field {
  uint64_t Counters::* value;
  std::atomic<uint64_t> CounterBlock::* live;
};
constexpr Field kFields[] = {
    {&Counters::syncs, &CounterBlock::syncs},
    {&Counters::dispatches, &CounterBlock::dispatches},
    {&Counters::command_buffers, &CounterBlock::command_buffers},
    {&Counters::barriers, &CounterBlock::barriers},
    {&Counters::barrier_ns, &CounterBlock::barrier_ns},
    {&Counters::auto_barriers, &CounterBlock::auto_barriers},
    {&Counters::auto_barrier_concurrent, &CounterBlock::auto_barrier_concurrent},
    {&Counters::residency_allocations, &CounterBlock::residency_allocations},
    {&Counters::residency_commits, &CounterBlock::residency_commits},
};
static_assert(sizeof(Counters) == std::size(kFields) * sizeof(uint64_t));

Counters sum(Counters a, const Counters& b) {
  for (const Field& field : kFields) a.*field.value += b.*field.value;
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
  for (const Field& field : kFields) out.*field.value -= earlier.*field.value;
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
  Counters out;
  for (const Field& field : kFields) {
    out.*field.value = (this->*field.live).load(std::memory_order_relaxed);
  }
  return out;
}

}  // namespace mlxn
