#pragma once

#include <vector>

#include "llvm/IR/Module.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

// Inlines everything into the entry functions, from the bottom up, but for long functions that only
// compute numbers from numbers: these are called. Fails on recursion.
Status inline_all(llvm::Module& module, const std::vector<Kernel>& kernels);

}  // namespace mlxn::msl
