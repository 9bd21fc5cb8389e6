#pragma once

#include "llvm/IR/Function.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

// Tier 2: what tier 1 does, for any control flow: each lane has its own place in the program.
void build_masked_regions(llvm::Function& entry, Kernel& kernel, const Shape& shape);

}  // namespace mlxn::msl
