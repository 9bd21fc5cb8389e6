// Entry functions for one thread, and what the functions built from them have in common.
#pragma once

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

// Parameters of an entry function for one thread.
enum EntryParameter : unsigned {
  kDispatch,
  kThreadgroup,
  kPositionX,  // in the threadgroup
  kPositionY,
  kPositionZ,
  kThread,  // linear index in the threadgroup, x fastest
};

// The empty function kernel.symbol for tiers 0 to 2, an MslThreadgroupEntry.
llvm::Function* create_threadgroup_function(const llvm::Function& entry, Kernel& kernel);

// Reads how many threads the threadgroup has in a dimension: 1 to MSL_MAX_THREADS, never changing.
llvm::LoadInst* load_group_size(llvm::IRBuilder<>& builder, llvm::Value* threadgroup,
                                unsigned dimension);

}  // namespace mlxn::msl
