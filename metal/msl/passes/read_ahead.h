// Loops that read long rows of memory from end to end fetch what they will read next.
#pragma once

#include "llvm/IR/PassManager.h"

namespace mlxn::msl {

// Processors fetch ahead by themselves, but not beyond a page, and where there is much to compute
// for each line too few loads are under way. So innermost loops that read at least 512 bytes of one
// row in a round, by vectors and nearly all of them, prefetch each line 8 KiB ahead. Behind the end
// of a row mostly comes the next one; a prefetch cannot fault. Loops that compute so much for a
// line that memory keeps up are left as they are.
struct ReadAhead : llvm::PassInfoMixin<ReadAhead> {
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& manager);
};

}  // namespace mlxn::msl
