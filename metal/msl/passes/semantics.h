#pragma once

#include "llvm/IR/Module.h"

namespace mlxn::msl {

// Gives every operation MSL's meaning where C++ or LLVM leave it undefined: shift amounts wrap,
// float to integer saturates, a zero divisor counts as one, a bool is any byte, memory may hold any
// type. For a processor also: vectors need only their element's alignment, and contracted
// arithmetic in 16 bits is rounded once.
void define_semantics(llvm::Module& module, bool for_processor);

// A bool that goes from memory to memory, directly or through functions, keeps its byte, whatever
// it is: programs copy other data as bools, and on a Mac it arrives. Behind inline_all.
void keep_copied_bytes(llvm::Module& module);

}  // namespace mlxn::msl
