// Takes the guard out of loops over threads.
#pragma once

#include "llvm/IR/PassManager.h"

namespace mlxn::msl {

// Kernels begin with "if (position < n)": in a loop over threads that is a test in each iteration,
// and a mask on each vector access, which many machines lack for small types. Where an iteration
// does nothing once the test fails, and the tested value rises by one, the loop ends there instead.
// Loops of constant length keep their test: a known length is worth more.
struct TrimLoops : llvm::PassInfoMixin<TrimLoops> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& manager);
};

}  // namespace mlxn::msl
