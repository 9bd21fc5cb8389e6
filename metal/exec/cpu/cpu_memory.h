#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "metal/exec/cpu/guarded_block.h"
#include "metal/rt/executor/executor.h"

namespace mlxn::cpu {

// Bytes handed out and not yet freed. Shared with each allocation, which may outlive the executor.
using Account = std::shared_ptr<std::atomic<uint64_t>>;

// Alignment of what allocate_memory returns, unless guarded.
inline constexpr uint64_t kMemoryAlignment = 256;

struct MemoryOptions {
  uint64_t limit = 0;  // of one allocation, in bytes
  // Other than kNone: each in a GuardedBlock, aligned as the types of kernels need it.
  MemoryGuard guard = MemoryGuard::kNone;
};

// New zero-filled memory. Large blocks are mapped, so untouched pages cost nothing. Fails with
// kOutOfMemory above the limit or when the system refuses.
Result<std::shared_ptr<rt::Memory>> allocate_memory(uint64_t size, const MemoryOptions& options,
                                                    const Account& account);

// The caller's memory; nothing is copied, counted or freed.
Result<std::shared_ptr<rt::Memory>> wrap_memory(void* host, uint64_t size);

// The bytes of memory that kernels reach, whether or not the host is shown them.
inline std::byte* bytes_of(const rt::Memory& memory) {
  return reinterpret_cast<std::byte*>(memory.device_address);
}

// Where kernels find what nothing is bound for: it reads as zeros for 16 GiB on both sides and
// cannot be written. Null when the process has no such room.
std::byte* nothing_bound();
bool is_nothing_bound(uintptr_t address);

// Physical memory of the machine.
uint64_t physical_memory();

}  // namespace mlxn::cpu
