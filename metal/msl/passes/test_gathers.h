// Gathers and scatters of 64-bit elements test whether their addresses follow one another, and if
// they do, are one load or store. Often they do where the compiler cannot know: indices of 32 or
// 16 bits that might wrap, strides that are arguments. A test takes a few instructions, a gather
// some thirty cycles. Elements of 64 bits are what join_gathers makes.
#pragma once

#include "llvm/IR/Function.h"

namespace mlxn::msl {

// Runs behind join_gathers; with AVX-512 only.
void test_gathers(llvm::Function& function);

}  // namespace mlxn::msl
