// bfloat on machines that cannot convert it.
#pragma once

#include "llvm/IR/Function.h"

namespace mlxn::msl {

// Where the function's target has no bfloat instructions: conversions to and from float become
// integer arithmetic, accesses those of 16-bit integers. The code generator would call a library
// function for each element and not vectorise anything around it. Rounds to nearest even; NaN stays
// NaN.
void lower_bfloat(llvm::Function& function);

}  // namespace mlxn::msl
