#pragma once

#include "llvm/IR/Function.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

// Replaces thread positions, argument addresses and threadgroup variables of an entry function
// by loads from MslDispatch and MslThreadgroup. Sets the kernel's static threadgroup size.
void lower_thread_state(llvm::Function& entry, Kernel& kernel);

// Loads from `constant` arguments never change while a kernel runs.
void mark_constant_loads(llvm::Function& entry);

}  // namespace mlxn::msl
