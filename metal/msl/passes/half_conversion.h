// Conversions between half and float. LLVM 19 takes those of more than four numbers for very
// expensive, though processors have an instruction for 16, and so makes vectors of four of every
// loop that has one. While loops are vectorised they are calls with forms for vectors.
#pragma once

#include "llvm/IR/Module.h"

namespace mlxn::msl {

// Replaces conversions of single numbers by calls, where the function's target has instructions for
// them.
void hide_half_conversions(llvm::Function& function);

// The calls, of numbers and of vectors, become conversions again.
void show_half_conversions(llvm::Module& module);

}  // namespace mlxn::msl
