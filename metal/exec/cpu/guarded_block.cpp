#include "metal/exec/cpu/guarded_block.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "mlxn/base/checked.h"

namespace mlxn::cpu {
namespace {

// Bounds on what is kept out of reach: the number of the system's mappings and of addresses.
constexpr size_t kMaxFreed = 8192;
constexpr uint64_t kMaxFreedBytes = uint64_t{4} << 40;

struct Range {
  std::byte* begin;
  uint64_t bytes;
};

// Blocks that are gone, oldest first.
struct Freed {
  std::mutex mutex;
  std::deque<Range> ranges;
  uint64_t bytes = 0;
};

// Never destroyed: blocks may go after static objects.
Freed& freed() {
  static auto& instance = *new Freed;
  return instance;
}

constexpr uint64_t kGuardBytes = 1 << 20;  // whole pages
constexpr int kReserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void keep_out_of_reach(Range range) {
  // New mappings over the old ones: the pages are given back, the addresses are not.
  if (mmap(range.begin, range.bytes, PROT_NONE, kReserve | MAP_FIXED, -1, 0) == MAP_FAILED) {
    munmap(range.begin, range.bytes);
    return;
  }
  Freed& all = freed();
  const std::lock_guard lock(all.mutex);
  all.ranges.push_back(range);
  all.bytes += range.bytes;
  while (all.ranges.size() > kMaxFreed || all.bytes > kMaxFreedBytes) {
    const Range oldest = all.ranges.front();
    all.ranges.pop_front();
    all.bytes -= oldest.bytes;
    munmap(oldest.begin, oldest.bytes);
  }
}

}  // namespace

GuardedBlock GuardedBlock::create(uint64_t size, uint64_t alignment, MemoryGuard guard) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto usable = checked_align_up(size, page);
  const auto aligned = checked_align_up(size, alignment);
  const auto total = usable ? checked_add<uint64_t>(*usable, 2 * kGuardBytes) : usable;
  GuardedBlock block;
  if (!usable || !aligned || !total) return block;
  void* reserved =
      mmap(nullptr, *total, guard == MemoryGuard::kAll ? PROT_NONE : PROT_READ, kReserve, -1, 0);
  if (reserved == MAP_FAILED) return block;
  block.reserved_ = static_cast<std::byte*>(reserved);
  block.reserved_bytes_ = *total;
  std::byte* const first = block.reserved_ + kGuardBytes;
  if (mprotect(first, *usable, PROT_READ | PROT_WRITE) != 0) return block;
  block.end_ = first + *usable;
  block.data_ = block.end_ - *aligned;
  return block;
}

GuardedBlock::~GuardedBlock() {
  if (reserved_) keep_out_of_reach({reserved_, reserved_bytes_});
}

bool is_in_freed_block(uintptr_t address) {
  Freed& all = freed();
  const std::lock_guard lock(all.mutex);
  return std::ranges::any_of(all.ranges, [&](const Range& range) {
    return address - reinterpret_cast<uintptr_t>(range.begin) < range.bytes;
  });
}

}  // namespace mlxn::cpu
