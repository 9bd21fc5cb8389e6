#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "metal/rt/executor.h"

namespace mlxn::cpu {

// Bytes handed out and not yet freed. Shared with each allocation, which may outlive the executor.
using Account = std::shared_ptr<std::atomic<uint64_t>>;

// Alignment of everything allocate_memory returns.
inline constexpr uint64_t kMemoryAlignment = 256;

// New zero-filled memory. Large blocks are mapped, so untouched pages cost nothing. Fails with
// kOutOfMemory above `limit` or when the system refuses.
Result<std::shared_ptr<rt::Memory>> allocate_memory(uint64_t size, uint64_t limit,
                                                    const Account& account);

// The caller's memory; nothing is copied, counted or freed.
Result<std::shared_ptr<rt::Memory>> wrap_memory(void* host, uint64_t size);

// Where kernels find what nothing is bound for: it reads as zeros for 16 GiB on both sides and
// cannot be written. Null when the process has no such room.
std::byte* nothing_bound();
bool is_nothing_bound(uintptr_t address);

// Physical memory of the machine.
uint64_t physical_memory();

}  // namespace mlxn::cpu
