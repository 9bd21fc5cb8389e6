// Values that are the same whichever way control came. LLVM's elimination of redundancies makes a
// phi of an expression that several paths compute, such as the lane's number as a 64-bit index; the
// regions of a kernel would keep it in memory, and addresses made of it would be unknown.
#pragma once

#include "llvm/IR/Function.h"

namespace mlxn::msl {

// Computes such values where the paths have joined.
void join_equal_phis(llvm::Function& function);

}  // namespace mlxn::msl
