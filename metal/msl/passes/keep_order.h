// Keeps the accesses of one thread to the same memory in order when threads are vectorised.
#pragma once

#include "llvm/IR/PassManager.h"

namespace mlxn::msl {

// Loops over threads say that their iterations are independent. LLVM 19 takes that for "no two
// accesses conflict" and, when it joins strided accesses into one wide access and a shuffle, moves
// loads up and stores down across accesses of the same iteration to the same memory. Such an access
// gets an address whose stride cannot be seen, so that it stays a gather or a scatter at its place.
struct KeepOrder : llvm::PassInfoMixin<KeepOrder> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& manager);
};

}  // namespace mlxn::msl
