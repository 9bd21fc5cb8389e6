#include "metal/msl/passes/unroll.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// Bounds on what unrolling may make of a loop; matrix kernels need some hundreds of instructions.
constexpr unsigned kMostIterations = 64;
constexpr unsigned kMostInstructions = 4000;

bool indexes_private_array(const Loop& loop) {
  for (BasicBlock* block : loop.blocks())
    for (Instruction& instruction : *block)
      if (isa<GetElementPtrInst>(instruction) && !loop.isLoopInvariant(&instruction) &&
          !cast<GetElementPtrInst>(instruction).hasAllConstantIndices() &&
          isa<AllocaInst>(getUnderlyingObject(&instruction)))
        return true;
  return false;
}

}  // namespace

PreservedAnalyses UnrollPrivateArrays::run(Loop& loop, LoopAnalysisManager&,
                                           LoopStandardAnalysisResults& results, LPMUpdater&) {
  unsigned iterations = results.SE.getSmallConstantTripCount(&loop);
  size_t instructions = 0;
  for (BasicBlock* block : loop.blocks()) instructions += block->size();
  if (iterations > 0 && iterations <= kMostIterations &&
      iterations * instructions <= kMostInstructions && indexes_private_array(loop))
    addStringMetadataToLoop(&loop, "llvm.loop.unroll.full", 1);
  return PreservedAnalyses::all();
}

}  // namespace mlxn::msl
