// The first lowering stage: from the front end's module to self-contained entry functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "llvm/IR/Module.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

// Gives every operation MSL's meaning where C++ or LLVM leave it undefined: shift amounts wrap,
// float to integer saturates, a zero divisor counts as one, vectors need only their element's alignment.
void define_semantics(llvm::Module& module, bool relax_alignment);

// Turns annotated threadgroup variables into globals of addrspace(3), named msl.threadgroup.*, and removes all
// other annotations.
void lower_annotations(llvm::Module& module);

// Inlines everything into the entry functions. Fails on recursion.
Status inline_all(llvm::Module& module, const std::vector<Kernel>& kernels);

// Gives each cross-lane call its own site number; must run before anything may duplicate a call.
void number_sites(llvm::Module& module);

// True for __msl_* functions that make a thread wait for others.
bool is_cross_lane(const llvm::Function& function);

}  // namespace mlxn::msl
