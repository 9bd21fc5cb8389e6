#include "metal/msl/passes/moving_pointers.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "metal/msl/passes/entry.h"
#include "metal/msl/passes/lane_offsets.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// Whether all lanes of a simdgroup that enter the loop leave it together.
bool is_together(const Loop& loop, const Uniformity& uniformity) {
  SmallVector<BasicBlock*, 4> exiting;
  loop.getExitingBlocks(exiting);
  return uniformity.control(*loop.getHeader()) < Level::kLane &&
         all_of(exiting, [&](auto* block) { return uniformity.of_branch(*block) < Level::kLane; });
}

class PointerJoiner {
 public:
  PointerJoiner(Function& entry, const Uniformity& uniformity, unsigned threads)
      : entry_(entry),
        uniformity_(uniformity),
        offsets_(*entry.getArg(kThread), threads,
                 [&](const Value* value) { return uniformity.of(value) < Level::kLane; }) {}

  bool run() {
    DominatorTree dominators(entry_);
    LoopInfo loops(dominators);
    bool changed = false;
    for (Loop* loop : loops.getLoopsInPreorder()) {
      if (!loop->getLoopPredecessor() || !loop->getLoopLatch() || !is_together(*loop, uniformity_))
        continue;
      for (PHINode& phi : make_early_inc_range(loop->getHeader()->phis()))
        changed |= join(*loop, loops, phi);
    }
    return changed;
  }

 private:
  bool join(const Loop& loop, const LoopInfo& loops, PHINode& phi) {
    if (!phi.getType()->isPointerTy() || uniformity_.of(&phi) < Level::kLane) return false;
    Value* first = phi.getIncomingValueForBlock(loop.getLoopPredecessor());
    Value* repeated = phi.getIncomingValueForBlock(loop.getLoopLatch());
    SmallVector<GetElementPtrInst*, 4> steps;
    if (!find_steps(phi, repeated, steps)) return false;
    // What an inner loop leaves behind may differ between lanes that leave it at different times.
    for (const GetElementPtrInst* gep : steps)
      if (loops.getLoopFor(gep->getParent()) != &loop) return false;
    bool unknown = false;
    if (private_variable(first, unknown) || unknown) return false;
    auto distances = offsets_.of(first);
    if (!distances) return false;
    int64_t step = (*distances)[1];
    for (unsigned lane = 0; lane < distances->size(); ++lane)
      if ((*distances)[lane] != step * lane) return false;

    IRBuilder<> b(&phi);
    PHINode* one = b.CreatePHI(phi.getType(), 2);
    one->addIncoming(offsets_.in_first_lane(first), loop.getLoopPredecessor());
    Value* moved = one;
    for (GetElementPtrInst* gep : reverse(steps)) {
      auto* copy = cast<GetElementPtrInst>(gep->clone());
      copy->setOperand(0, moved);
      copy->setIsInBounds(false);
      copy->insertBefore(gep);
      moved = copy;
    }
    one->addIncoming(moved, loop.getLoopLatch());
    b.SetInsertPoint(&*loop.getHeader()->getFirstInsertionPt());
    Value* lane =
        b.CreateZExt(b.CreateAnd(entry_.getArg(kThread), MSL_SIMD_WIDTH - 1), b.getInt64Ty());
    Value* own = b.CreateGEP(b.getInt8Ty(), one, b.CreateMul(lane, b.getInt64(uint64_t(step))));
    phi.replaceAllUsesWith(own);
    phi.eraseFromParent();
    return true;
  }

  // By which steps the pointer moves in a round, the last one first.
  bool find_steps(PHINode& phi, Value* repeated, SmallVectorImpl<GetElementPtrInst*>& steps) {
    while (repeated != &phi) {
      auto* gep = dyn_cast<GetElementPtrInst>(repeated);
      if (!gep || !all_of(gep->indices(),
                          [&](Value* index) { return uniformity_.of(index) < Level::kLane; }))
        return false;
      steps.push_back(gep);
      repeated = gep->getPointerOperand();
    }
    return !steps.empty();
  }

  Function& entry_;
  const Uniformity& uniformity_;
  LaneOffsets offsets_;
};

}  // namespace

bool join_moving_pointers(Function& entry, const Uniformity& uniformity, unsigned threads) {
  return PointerJoiner(entry, uniformity, threads).run();
}

}  // namespace mlxn::msl
