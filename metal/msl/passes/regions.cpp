#include "metal/msl/passes/regions.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "metal/msl/passes/cross_lane.h"
#include "metal/msl/passes/simdgroup_ops.h"
#include "metal/msl/passes/tiles.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

bool is_region_operation(const CallInst& call) {
  const Function* callee = call.getCalledFunction();
  return callee && (is_cross_lane(*callee) || is_tile_operation(call));
}

bool is_barrier(const CallInst& call) {
  return !is_tile_operation(call) &&
         MSL_OP_KIND(lane_operation(call).word) == MSL_OP_THREADGROUP_BARRIER;
}

// The operation a block consists of, or null.
CallInst* operation_in(BasicBlock& block) {
  auto* call = dyn_cast<CallInst>(&block.front());
  return call && is_region_operation(*call) ? call : nullptr;
}

// One return; what must not be reached ends the thread.
void unify_returns(Function& entry) {
  std::vector<Instruction*> ends;
  for (BasicBlock& block : entry)
    if (succ_empty(&block)) ends.push_back(block.getTerminator());
  BasicBlock* last = BasicBlock::Create(entry.getContext(), "return", &entry);
  ReturnInst::Create(entry.getContext(), last);
  for (Instruction* end : ends) {
    BranchInst::Create(last, end->getIterator());
    end->eraseFromParent();
  }
}

void isolate_operations(Function& entry) {
  std::vector<CallInst*> calls;
  for (BasicBlock& block : entry)
    for (Instruction& instruction : block)
      if (auto* call = dyn_cast<CallInst>(&instruction); call && is_region_operation(*call))
        calls.push_back(call);
  for (CallInst* call : calls) {
    BasicBlock* block = SplitBlock(call->getParent(), call);
    block->setName("op");
    SplitBlock(block, call->getNextNode());
  }
}

using Blocks = std::set<BasicBlock*>;

// For each block which head comes first on the way from its end: none, one, or several.
struct Exits {
  static inline BasicBlock* const kSeveral = reinterpret_cast<BasicBlock*>(1);
  std::map<const BasicBlock*, BasicBlock*> first;

  Exits(Function& entry, const Blocks& heads) {
    bool changed = true;
    while (changed) {
      changed = false;
      for (BasicBlock* block : post_order(&entry)) {
        BasicBlock*& known = first[block];
        BasicBlock* found = known;
        for (BasicBlock* next : successors(block)) {
          BasicBlock* head = heads.count(next) ? next : first[next];
          if (!head) continue;
          found = !found || found == head ? head : kSeveral;
        }
        changed |= found != known;
        known = found;
      }
    }
  }
  bool several(const BasicBlock& block) const { return first.at(&block) == kSeveral; }
};

// The first block that two heads lead to, or null.
BasicBlock* shared_block(ReversePostOrderTraversal<Function*>& order, const Blocks& heads) {
  std::map<const BasicBlock*, BasicBlock*> owner;
  bool changed = true;
  while (changed) {
    changed = false;
    for (BasicBlock* block : order) {
      BasicBlock* now = heads.count(block) ? block : nullptr;
      if (!now)
        for (BasicBlock* before : predecessors(block)) {
          BasicBlock* theirs = owner[before];
          if (now && theirs && theirs != now) return block;
          if (!now) now = theirs;
        }
      changed |= owner[block] != now;
      owner[block] = now;
    }
  }
  return nullptr;
}

// Makes every block that two heads lead to a head itself.
bool add_shared_heads(Function& entry, Blocks& heads) {
  bool added = false;
  ReversePostOrderTraversal<Function*> order(&entry);
  while (BasicBlock* block = shared_block(order, heads)) {
    heads.insert(block);
    added = true;
  }
  return added;
}

// Cuts every branch of at most `level` behind which the ways to different heads part.
bool cut_branches(Function& entry, const Uniformity& uniformity, Level level, Blocks& heads,
                  Blocks& branches) {
  Exits exits(entry, heads);
  std::vector<BasicBlock*> found;
  for (BasicBlock& block : entry) {
    if (succ_size(&block) < 2 || branches.count(&block) || !exits.several(block)) continue;
    if (uniformity.of_branch(block) > level) continue;
    bool here = all_of(successors(&block), [&](BasicBlock* next) {
      return heads.count(next) || !exits.several(*next);
    });
    if (here) found.push_back(&block);
  }
  for (BasicBlock* block : found) {
    BasicBlock* node = SplitBlock(block, block->getTerminator());
    node->setName("branch");
    branches.insert(node);
    heads.insert(node);
    for (BasicBlock* next : successors(node)) {
      if (next->getSinglePredecessor()) FoldSingleEntryPHINodes(next);
      heads.insert(next);
    }
  }
  return !found.empty();
}

void close_heads(Function& entry, const Uniformity& uniformity, Level level, Blocks& heads,
                 Blocks& branches) {
  while (add_shared_heads(entry, heads) ||
         cut_branches(entry, uniformity, level, heads, branches)) {
  }
}

DebugLoc place_of_choice(const Instruction& terminator) {
  if (terminator.getDebugLoc()) return terminator.getDebugLoc();
  const auto* choice = dyn_cast<Instruction>(terminator.getOperand(0));
  return choice ? choice->getDebugLoc() : DebugLoc();
}

std::optional<Refusal> check(Function& entry, const Blocks& heads, const Blocks& branches,
                             const char* why) {
  Exits exits(entry, heads);
  for (BasicBlock& block : entry) {
    if (branches.count(&block)) continue;
    if (succ_size(&block) > 1 && exits.several(block))
      return Refusal{why, place_of_choice(*block.getTerminator())};
    if (!succ_empty(&block) && !exits.first.at(&block))
      return Refusal{"a loop without an end", block.getTerminator()->getDebugLoc()};
  }
  return std::nullopt;
}

Blocks operation_heads(Function& entry, bool barriers_only) {
  Blocks heads = {&entry.getEntryBlock()};
  for (BasicBlock& block : entry) {
    if (succ_empty(&block)) heads.insert(&block);
    CallInst* call = operation_in(block);
    if (!call || (barriers_only && !is_barrier(*call))) continue;
    heads.insert(&block);
    heads.insert(block.getSingleSuccessor());
  }
  return heads;
}

}  // namespace

void normalise_for_regions(Function& entry) {
  removeUnreachableBlocks(entry);
  unify_returns(entry);
  isolate_operations(entry);
  DominatorTree dominators(entry);
  LoopInfo loops(dominators);
  AssumptionCache assumptions(entry);
  SmallVector<Loop*, 8> top(loops.begin(), loops.end());
  for (Loop* loop : top)
    simplifyLoop(loop, &dominators, &loops, nullptr, &assumptions, nullptr,
                 /*PreserveLCSSA=*/false);
  SplitAllCriticalEdges(entry, CriticalEdgeSplittingOptions(&dominators, &loops));
  for (BasicBlock& block : entry)
    if (block.getSinglePredecessor()) FoldSingleEntryPHINodes(&block);
}

void RegionGraph::make_regions(Function& entry, const Blocks& heads, const Blocks& branches) {
  ReversePostOrderTraversal<Function*> order(&entry);
  for (BasicBlock* block : order) {
    if (heads.count(block)) {
      auto& region = regions_.emplace_back(std::make_unique<Region>());
      region->head = block;
      if (succ_empty(block))
        region->kind = Region::Kind::kReturn;
      else if (branches.count(block))
        region->kind = Region::Kind::kBranch;
      else if (CallInst* call = operation_in(*block))
        region->kind = is_barrier(*call) ? Region::Kind::kBarrier : Region::Kind::kOperation;
      by_head_[block] = region.get();
      owner_[block] = region.get();
    } else {
      // Every way to a block that is no head comes from one region; back edges come later.
      for (BasicBlock* before : predecessors(block))
        if (auto found = owner_.find(before); found != owner_.end()) owner_[block] = found->second;
    }
    owner_[block]->blocks.push_back(block);
  }
  for (auto& region : regions_) {
    std::set<Region*> seen;
    for (BasicBlock* block : region->blocks)
      for (BasicBlock* next : successors(block))
        if (heads.count(next) && seen.insert(at(next)).second) region->next.push_back(at(next));
  }
}

std::optional<Refusal> RegionGraph::split_uniform(Function& entry, const Uniformity& uniformity,
                                                  const Blocks& loops) {
  Blocks branches;
  Blocks phases = operation_heads(entry, /*barriers_only=*/true);
  close_heads(entry, uniformity, Level::kThreadgroup, phases, branches);
  if (auto refusal = check(entry, phases, branches,
                           "a threadgroup barrier behind a branch that differs between threads"))
    return refusal;
  const Blocks threadgroup_branches = branches;
  Blocks heads = operation_heads(entry, /*barriers_only=*/false);
  heads.insert(phases.begin(), phases.end());
  heads.insert(loops.begin(), loops.end());
  close_heads(entry, uniformity, Level::kSimdgroup, heads, branches);
  if (auto refusal = check(entry, heads, branches,
                           "a cross-lane operation behind a branch that differs between lanes"))
    return refusal;
  make_regions(entry, heads, branches);
  // A region belongs to the phase it is reached from.
  for (auto& region : regions_) {
    BasicBlock* head = region->head;
    if (phases.count(head)) {
      region->at_threadgroup = true;
      region->phase = region.get();
      continue;
    }
    for (BasicBlock* before : predecessors(head))
      if (auto found = owner_.find(before); found != owner_.end() && found->second->phase)
        region->phase = found->second->phase;
  }
  return std::nullopt;
}

void RegionGraph::split_masked(Function& entry) {
  Blocks heads = operation_heads(entry, /*barriers_only=*/false);
  while (add_shared_heads(entry, heads)) {
  }
  make_regions(entry, heads, {});
}

}  // namespace mlxn::msl
