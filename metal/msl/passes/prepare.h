// The first lowering stage: from the front end's module to self-contained entry functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "llvm/IR/Module.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

// Gives every operation MSL's meaning where C++ or LLVM leave it undefined: shift amounts wrap,
// float to integer saturates, a zero divisor counts as one, a bool is any byte, memory may hold any
// type. For a processor also: vectors need only their element's alignment, and contracted
// arithmetic in 16 bits is rounded once.
void define_semantics(llvm::Module& module, bool for_processor);

// A bool that goes from memory to memory, directly or through functions, keeps its byte, whatever
// it is: programs copy other data as bools, and on a Mac it arrives. Behind inline_all.
void keep_copied_bytes(llvm::Module& module);

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

// Inlines everything into the entry functions, from the bottom up, but for long functions that only
// compute numbers from numbers: these are called. Fails on recursion.
Status inline_all(llvm::Module& module, const std::vector<Kernel>& kernels);

// Gives each cross-lane call its own site number; must run before anything may duplicate a call.
void number_sites(llvm::Module& module);

// True for __msl_* functions that make a thread wait for others.
bool is_cross_lane(const llvm::Function& function);

}  // namespace mlxn::msl
