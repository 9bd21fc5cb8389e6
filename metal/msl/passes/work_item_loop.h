#pragma once

#include "llvm/IR/Function.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

// Tier 0, for kernels without cross-lane operations: adds the function kernel.symbol, three nested
// loops over the threads of a threadgroup. They are independent, so the loops carry that fact and
// LLVM vectorises the inner one. `entry` is inlined into it.
void build_work_item_loop(llvm::Function& entry, Kernel& kernel);

}  // namespace mlxn::msl
