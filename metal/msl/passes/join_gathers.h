// Two fields of a structure that vector code gathers by themselves, such as x and y of a float2,
// are gathered at once, and scattered at once: elements of twice the size. A processor does such
// accesses element by element, so half as many take half the time.
#pragma once

#include "llvm/IR/Function.h"

namespace mlxn::msl {

// Runs on code that has been vectorised.
void join_gathers(llvm::Function& function);

}  // namespace mlxn::msl
