// Branches behind which the threads of a set go different ways, as pairs of sides that meet again.
#pragma once

#include <optional>
#include <vector>

#include "llvm/IR/Function.h"
#include "metal/msl/passes/regions.h"

namespace mlxn::msl {

// One side of a branch: code that only its threads run, with one way in and one out.
struct BranchSide {
  llvm::BasicBlock* head = nullptr;  // null: nothing, straight to the join
  llvm::BasicBlock* end = nullptr;   // goes to the join; the branch's block if there is nothing
};

struct PairedBranch {
  llvm::BranchInst* branch = nullptr;
  BranchSide sides[2];               // where the condition is true, and where it is false
  llvm::BasicBlock* join = nullptr;  // has no other ways in than the two ends

  std::vector<llvm::BasicBlock*> blocks(const BranchSide& side) const;
};

// Finds them, outer ones first, and splits blocks of `entry` until each has this form. Refuses what
// has none: loops that threads leave at different times, sides that share code.
std::optional<Refusal> pair_branches(llvm::Function& entry, std::vector<PairedBranch>& found);

}  // namespace mlxn::msl
