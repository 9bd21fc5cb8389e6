#include "metal/msl/passes/keep_order.h"

#include <cstdlib>
#include <optional>

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// All loads and stores of the loop in the order of an iteration.
SmallVector<Instruction*, 16> accesses_of(Loop& loop, LoopInfo& loops) {
  SmallVector<Instruction*, 16> accesses;
  LoopBlocksDFS order(&loop);
  order.perform(&loops);
  for (BasicBlock* block : make_range(order.beginRPO(), order.endRPO())) {
    for (Instruction& instruction : *block)
      if (isa<LoadInst, StoreInst>(instruction)) accesses.push_back(&instruction);
  }
  return accesses;
}

// Neighbouring iterations access memory in steps of more than one element, as far as the vectoriser
// can tell.
bool may_be_joined(Instruction& access, Loop& loop, PredicatedScalarEvolution& evolution) {
  std::optional<int64_t> stride =
      getPtrStride(evolution, getLoadStoreType(&access), getLoadStorePointerOperand(&access), &loop,
                   DenseMap<Value*, const SCEV*>(), /*Assume=*/true, /*ShouldCheckWrap=*/false);
  return stride && std::abs(*stride) > 1;
}

bool keep_order(Loop& loop, LoopInfo& loops, ScalarEvolution& values, AAResults& aliases) {
  const SmallVector<Instruction*, 16> accesses = accesses_of(loop, loops);
  auto conflict = [&](const Instruction* a, const Instruction* b) {
    return (isa<StoreInst>(a) || isa<StoreInst>(b)) &&
           !aliases.isNoAlias(MemoryLocation::get(a), MemoryLocation::get(b));
  };
  PredicatedScalarEvolution evolution(values, loop);
  bool changed = false;
  for (size_t i = 0; i < accesses.size(); ++i) {
    const ArrayRef<Instruction*> all(accesses);
    Instruction* access = all[i];
    // Loads move up, stores move down.
    const ArrayRef<Instruction*> passed =
        isa<LoadInst>(access) ? all.take_front(i) : all.drop_front(i + 1);
    if (none_of(passed, [&](const Instruction* other) { return conflict(access, other); }) ||
        !may_be_joined(*access, loop, evolution))
      continue;
    Value* address = getLoadStorePointerOperand(access);
    Value* hidden = IRBuilder<>(access).CreateFreeze(address, "hidden");
    access->setOperand(isa<LoadInst>(access) ? LoadInst::getPointerOperandIndex()
                                             : StoreInst::getPointerOperandIndex(),
                       hidden);
    changed = true;
  }
  return changed;
}

}  // namespace

PreservedAnalyses KeepOrder::run(Function& function, FunctionAnalysisManager& manager) {
  auto& loops = manager.getResult<LoopAnalysis>(function);
  auto& evolution = manager.getResult<ScalarEvolutionAnalysis>(function);
  auto& aliases = manager.getResult<AAManager>(function);
  bool changed = false;
  for (Loop* loop : loops.getLoopsInPreorder()) {
    if (loop->isInnermost() && loop->isAnnotatedParallel())
      changed |= keep_order(*loop, loops, evolution, aliases);
  }
  if (!changed) return PreservedAnalyses::all();
  PreservedAnalyses kept;
  kept.preserveSet<CFGAnalyses>();
  return kept;
}

}  // namespace mlxn::msl
