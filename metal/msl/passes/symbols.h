// What a module may hold when code is made of it: threadgroup variables, no initialisers, no open
// ends.
#pragma once

#include <vector>

#include "llvm/IR/Module.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

// Turns annotated threadgroup variables into globals of addrspace(3), named msl.threadgroup.*, and
// removes all other annotations.
void lower_annotations(llvm::Module& module);

// Removes run-time initialisers: kernels have nobody to run them. A variable that needs one becomes
// a mere declaration, so that check_symbols can name it if a kernel uses it.
void drop_initialisers(llvm::Module& module);

// Refuses what must not reach the code generator: inline assembly, functions without a body, and,
// unless allowed, variables without a value (function constants that were not set).
Status check_symbols(const llvm::Module& module, const std::vector<FunctionConstant>& constants,
                     bool allow_unset);

}  // namespace mlxn::msl
