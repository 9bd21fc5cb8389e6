#pragma once

#include "llvm/IR/Function.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

// Makes an entry function for threadgroups of one shape: thread positions become functions of the
// linear index, known sizes constants.
void fix_shape(llvm::Function& entry, const Shape& shape);

}  // namespace mlxn::msl
