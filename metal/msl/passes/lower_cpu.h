// CPU lowering: from entry functions for one thread to code the executor calls (see kernel_abi.h).
#pragma once

#include "llvm/IR/Module.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

// Replaces thread positions, argument addresses and threadgroup variables of an entry function
// by loads from MslDispatch and MslThreadgroup. Sets the kernel's static threadgroup size.
void lower_thread_state(llvm::Function& entry, Kernel& kernel);

// Loads from `constant` arguments never change while a kernel runs.
void mark_constant_loads(llvm::Function& entry);

bool has_cross_lane_call(const llvm::Function& entry);

// Tier 0: adds the function kernel.symbol, a loop over all threads of a threadgroup. `entry` is
// inlined into it.
void build_work_item_loop(llvm::Function& entry, Kernel& kernel);

// Coroutine tier: adds the function kernel.symbol, which starts one thread. `entry` must be fully
// inlined.
void build_coroutine(llvm::Function& entry, Kernel& kernel);

// After the coroutine passes: reads the size of the frame and removes the marker that carried it.
void read_frame_size(llvm::Function& start, Kernel& kernel);

}  // namespace mlxn::msl
