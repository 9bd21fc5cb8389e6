#pragma once

#include "llvm/IR/Function.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

// What a thread may hold in private variables. Small enough for the stack of any thread that runs
// a work-item loop, where the variables of one thread lie at a time, and for 1024 threads at once
// in the memory of a threadgroup (64 MiB), where the other tiers keep them; far above what fits in
// the registers of a GPU, beyond which private memory is slow.
inline constexpr uint64_t kMaxPrivateBytes = 64 << 10;

// Refuses a kernel whose private variables, as they are after optimisation, take more.
Status check_private_memory(const llvm::Function& entry, const Kernel& kernel);

// Puts memory that nobody writes before and behind each private array, so that an index beyond its
// ends does not find another variable: what it reads then depends on what that memory held.
void set_arrays_apart(llvm::Function& entry);

}  // namespace mlxn::msl
