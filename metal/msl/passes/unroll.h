// Unrolls the loops that stand in the way of keeping private arrays in registers.
#pragma once

#include "llvm/Transforms/Scalar/LoopPassManager.h"

namespace mlxn::msl {

// Asks for full unrolling of a loop that runs a known, small number of times and indexes a private
// array by something that changes in it: with constant indices the array comes apart into values.
// Kernels that tile a matrix product keep their accumulators in such arrays.
struct UnrollPrivateArrays : llvm::PassInfoMixin<UnrollPrivateArrays> {
  llvm::PreservedAnalyses run(llvm::Loop& loop, llvm::LoopAnalysisManager& manager,
                              llvm::LoopStandardAnalysisResults& results,
                              llvm::LPMUpdater& updater);
};

}  // namespace mlxn::msl
