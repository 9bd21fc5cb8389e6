// What tiers 1 and 2 have in common: the new function that runs a whole threadgroup, and in it the
// loop over the lanes of a simdgroup for each region.
#pragma once

#include <deque>

#include "metal/msl/passes/region_values.h"

namespace mlxn::msl {

class RegionEmitter {
 public:
  RegionEmitter(llvm::Function& entry, Kernel& kernel, const Shape& shape, const RegionGraph& graph,
                const Uniformity& uniformity, bool masked);
  virtual ~RegionEmitter() = default;

 protected:
  // One region's code. kLanes has all three scopes, the others only `before`.
  struct Code {
    Scope before, lane, after;
    std::map<const llvm::BasicBlock*, llvm::BasicBlock*> copies;
    llvm::BasicBlock* latch = nullptr;
    llvm::BranchInst* back_edge = nullptr;
    llvm::Value* result = nullptr;  // of an operation: scalar or vector
    // Uniform values for joins at the next head, stored after the loop.
    std::vector<std::pair<const llvm::PHINode*, llvm::Value*>> after_stores;
  };

  // Makes a region's code: `before` is an open block (without terminator); control goes on in
  // code.after.top, which is open again.
  void emit_lanes(Region& region, Code& code, llvm::BasicBlock* before, llvm::Value* simdgroup);
  // Where a lane's code begins. May skip lanes: then control must go to `skip`.
  virtual void enter_lane(llvm::IRBuilder<>&, Region&, Code&, llvm::BasicBlock*) {}
  // A lane leaves the region for `next`.
  virtual void leave_lane(llvm::IRBuilder<>&, Region&, Code&, Region&) {}

  // Stores what other regions need, lays out the context and marks the lane loops.
  void finish();

  llvm::BasicBlock* new_block(const llvm::Twine& name);
  // <32 x i1> of the lanes that exist, null when all do.
  llvm::Value* existing_lanes(llvm::IRBuilder<>& builder, llvm::Value* simdgroup);

  llvm::Function& entry_;
  Kernel& kernel_;
  const RegionGraph& graph_;
  bool masked_;
  bool full_;            // every simdgroup has 32 lanes
  bool lane_variables_;  // lane values are local variables
  llvm::Function* made_;
  llvm::BasicBlock* prologue_;
  llvm::Value* context_;
  llvm::Value* threads_;     // i64
  llvm::Value* simdgroups_;  // i64
  RegionValues values_;
  std::map<const Region*, Code> code_;
  std::set<llvm::BasicBlock*> staged_;  // heads of regions whose lanes load runs: see StageLoads

 private:
  llvm::Function* create_function();
  llvm::Value* count_threads(const Shape& shape);
  llvm::Value* lane_count(llvm::IRBuilder<>& builder, llvm::Value* simdgroup);
  void hoist_uniform(Region& region, Code& code);
  void copy_blocks(Region& region, Code& code);
  void redirect(Region& region, Code& code);
  void store_joins(Region& region, Code& code, llvm::BasicBlock& from, Region& to);
  void store_result(const llvm::Instruction& original, Slot& slot);
  void mark_parallel(const Region& region, Code& code);

  // Values that are stored where others join them.
  std::vector<std::pair<Slot*, const llvm::Value*>> joined_;
};

// Every simdgroup of a threadgroup of this shape has all its lanes.
bool has_full_simdgroups(const Shape& shape);

}  // namespace mlxn::msl
