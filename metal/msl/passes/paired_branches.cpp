#include "metal/msl/passes/paired_branches.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "metal/msl/passes/thread_steps.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

constexpr unsigned kMostBranches = 32;

using Blocks = SetVector<BasicBlock*>;

Blocks reached(BasicBlock* from, BasicBlock* join) {
  Blocks blocks;
  if (from == join) return blocks;
  blocks.insert(from);
  for (unsigned i = 0; i < blocks.size(); ++i)
    for (BasicBlock* next : successors(blocks[i]))
      if (next != join) blocks.insert(next);
  return blocks;
}

// One way in: from the branch, to the first block.
bool is_entered_once(const Blocks& side, BasicBlock* branch) {
  if (side.contains(branch)) return false;
  for (BasicBlock* block : side)
    for (BasicBlock* from : predecessors(block))
      if (!side.contains(from) && !(from == branch && block == side.front())) return false;
  return true;
}

// The block that alone leads from the side to the join.
BasicBlock* make_end(const Blocks& side, BasicBlock* join) {
  SmallVector<BasicBlock*, 4> ends;
  for (BasicBlock* from : predecessors(join))
    if (side.contains(from) && !is_contained(ends, from)) ends.push_back(from);
  if (ends.size() == 1 && ends[0]->getSingleSuccessor()) return ends[0];
  return SplitBlockPredecessors(join, ends, ".side");
}

BranchSide make_side(const Blocks& blocks, BasicBlock* branch, BasicBlock* join) {
  if (blocks.empty()) return {nullptr, branch};
  return {blocks.front(), make_end(blocks, join)};
}

std::optional<Refusal> pair(BranchInst& branch, const LoopInfo& loops,
                            const PostDominatorTree& after, std::vector<PairedBranch>& found) {
  auto refused = [&](const char* why) { return Refusal{why, branch.getDebugLoc()}; };
  BasicBlock* block = branch.getParent();
  BasicBlock* join = after.getNode(block)->getIDom()->getBlock();
  if (!join || loops.getLoopFor(block) != loops.getLoopFor(join))
    return refused("threads leave a loop at different times");
  Blocks sides[] = {reached(branch.getSuccessor(0), join), reached(branch.getSuccessor(1), join)};
  for (const Blocks& side : sides)
    if (!is_entered_once(side, block)) return refused("two ways of a branch share code");
  PairedBranch made{&branch, {}, join};
  for (unsigned i : {0, 1}) made.sides[i] = make_side(sides[i], block, join);
  if (pred_size(join) > 2) {
    made.join = SplitBlockPredecessors(join, {made.sides[0].end, made.sides[1].end}, ".join");
  }
  found.push_back(std::move(made));
  return std::nullopt;
}

}  // namespace

std::vector<BasicBlock*> PairedBranch::blocks(const BranchSide& side) const {
  if (!side.head) return {};
  Blocks blocks = reached(side.head, join);
  return {blocks.begin(), blocks.end()};
}

std::optional<Refusal> pair_branches(Function& entry, std::vector<PairedBranch>& found) {
  while (true) {
    ThreadSteps steps(entry);
    ReversePostOrderTraversal<Function*> order(&entry);
    BranchInst* next = nullptr;
    for (BasicBlock* block : order) {
      bool done = any_of(
          found, [&](const PairedBranch& pair) { return pair.branch == block->getTerminator(); });
      if (!done && steps.diverges(*block)) {
        next = cast<BranchInst>(block->getTerminator());
        break;
      }
    }
    if (!next) {
      // With joins of their own, branches around a paired one may turn out to be all threads'
      // alike.
      erase_if(found, [&](const PairedBranch& pair) {
        return !steps.diverges(*pair.branch->getParent());
      });
      return std::nullopt;
    }
    if (found.size() == kMostBranches)
      return Refusal{"too many branches differ between threads", next->getDebugLoc()};
    DominatorTree dominators(entry);
    LoopInfo loops(dominators);
    PostDominatorTree after(entry);
    if (auto refusal = pair(*next, loops, after, found)) return refusal;
  }
}

}  // namespace mlxn::msl
