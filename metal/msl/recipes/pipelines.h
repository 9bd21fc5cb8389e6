// Which passes run when: LLVM's and ours, in the order that kernels need.
#pragma once

#include "llvm/IR/Module.h"
#include "llvm/Passes/OptimizationLevel.h"
#include "llvm/Target/TargetMachine.h"

namespace mlxn::msl {

// Scalar clean-up of an inlined module: enough to see which operations are really there.
void simplify(llvm::Module& module, llvm::TargetMachine& machine);

// Leaves an entry function with scalar instructions and two-way branches only, as loops over lanes
// can be vectorised from.
void scalarise(llvm::Function& entry, llvm::TargetMachine& machine);

// Leaves out empty loops over lanes and joins the blocks between them, so that what a simdgroup
// does with its matrices stands side by side and is loaded once.
void join_blocks(llvm::Function& function, llvm::TargetMachine& machine);

// The full pipeline, vectorisation and coroutine passes included; at O0 the latter alone.
void optimise(llvm::Module& module, llvm::TargetMachine& machine, llvm::OptimizationLevel level);

}  // namespace mlxn::msl
