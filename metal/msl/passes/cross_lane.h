// Calls that make a thread wait for others.
#pragma once

#include "llvm/IR/Module.h"

namespace mlxn::msl {

// True for __msl_* functions that make a thread wait for others.
bool is_cross_lane(const llvm::Function& function);
bool has_cross_lane_call(const llvm::Function& entry);

// Gives each cross-lane call its own site number; must run before anything may duplicate a call.
void number_sites(llvm::Module& module);

}  // namespace mlxn::msl
