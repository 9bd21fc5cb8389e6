// Cuts an entry function into regions: parts that each lane can run from begin to end without any
// other lane. Cross-lane operations, and in tier 1 also the uniform branches between them, lie
// between regions and run once for a simdgroup or a threadgroup.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "metal/msl/passes/uniformity.h"

namespace mlxn::msl {

// Brings `entry` into the form regions are made from: scalar instructions, no switch, one return,
// every cross-lane call alone in its block, no critical edges, loops with preheaders.
void normalise_for_regions(llvm::Function& entry);

struct Region {
  enum class Kind {
    kLanes,      // code of the lanes, blocks[0] is the head
    kOperation,  // one call for a simdgroup
    kBarrier,    // a threadgroup barrier
    kBranch,     // a uniform branch
    kReturn,     // the end
  };
  Kind kind = Kind::kLanes;
  llvm::BasicBlock* head = nullptr;
  std::vector<llvm::BasicBlock*> blocks;  // in an order where definitions come before uses
  std::vector<Region*> next;              // where it may go; for kLanes in tier 1 exactly one
  // Runs, or begins to run, outside the loop over simdgroups.
  bool at_threadgroup = false;
  Region* phase = nullptr;  // tier 1: the region at threadgroup level whose loop this is part of

  llvm::CallInst* call() const { return llvm::dyn_cast<llvm::CallInst>(&head->front()); }
};

// Why a kernel cannot have its control flow kept once.
struct Refusal {
  std::string why;
  llvm::DebugLoc where;
};

class RegionGraph {
 public:
  // Tier 1: every region has one way out, so all lanes go the same way together. May split blocks
  // of `entry` at their terminators. `loops`: headers of uniform loops to run once for all lanes.
  std::optional<Refusal> split_uniform(llvm::Function& entry, const Uniformity& uniformity,
                                       const std::set<llvm::BasicBlock*>& loops);
  // Tier 2: lanes may leave a region to different places.
  void split_masked(llvm::Function& entry);

  const std::vector<std::unique_ptr<Region>>& regions() const { return regions_; }
  Region* at(const llvm::BasicBlock* head) const { return by_head_.at(head); }
  // The region a block belongs to.
  Region* of(const llvm::BasicBlock* block) const { return owner_.at(block); }
  Region* entry() const { return regions_.front().get(); }

 private:
  void make_regions(llvm::Function& entry, const std::set<llvm::BasicBlock*>& heads,
                    const std::set<llvm::BasicBlock*>& branches);

  std::vector<std::unique_ptr<Region>> regions_;
  std::map<const llvm::BasicBlock*, Region*> by_head_;
  std::map<const llvm::BasicBlock*, Region*> owner_;
};

}  // namespace mlxn::msl
