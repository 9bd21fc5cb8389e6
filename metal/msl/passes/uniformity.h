// Which values and branches are the same for all threads that reach them together: all threads of
// the threadgroup, all lanes of the simdgroup, or neither. The whole of region splitting rests on
// it: what is uniform is computed and decided once.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

enum class Level : uint8_t { kThreadgroup = 0, kSimdgroup = 1, kLane = 2 };

// Assumes what the memory model promises: no thread writes what another reads or writes before the
// next barrier, so that a load from a uniform address is uniform. `entry` must be inlined, and its
// thread positions must be functions of the thread's linear index (see fix_shape).
class Uniformity {
 public:
  // `full`: every simdgroup has all of its 32 lanes.
  Uniformity(llvm::Function& entry, bool full);

  Level of(const llvm::Value* value) const {
    auto found = levels_.find(value);
    return found == levels_.end() ? Level::kThreadgroup : found->second;
  }
  // Of the choice a block's terminator makes; kThreadgroup when it has one successor.
  Level of_branch(const llvm::BasicBlock& block) const;
  // The highest level of the branches that decide whether `block` is reached.
  Level control(const llvm::BasicBlock& block) const {
    auto found = control_.find(&block);
    return found == control_.end() ? Level::kThreadgroup : found->second;
  }

 private:
  struct Join {
    Level level;
    // The branching block and what lies between it and its post-dominator.
    std::shared_ptr<const std::map<const llvm::BasicBlock*, bool>> between;
  };

  void run();
  bool follow_branches();
  void spread(llvm::BasicBlock& block, Level level);
  Level evaluate(llvm::Instruction& instruction);
  Level evaluate_phi(const llvm::PHINode& phi) const;
  Level evaluate_load(const llvm::LoadInst& load) const;
  Level evaluate_call(const llvm::CallInst& call) const;
  bool note_writes(const llvm::Instruction& instruction);
  bool raise(std::map<const llvm::Value*, Level>& map, const llvm::Value* key, Level level);

  llvm::Function& entry_;
  bool full_;
  std::map<const llvm::Value*, Level> levels_;
  std::map<const llvm::Value*, Level> private_;  // what a private variable holds
  std::map<const llvm::BasicBlock*, Level> control_;
  std::map<const llvm::BasicBlock*, Level> followed_;  // branches spread so far
  std::map<const llvm::BasicBlock*, std::vector<Join>> joins_;
  struct Trees;
  Trees* trees_ = nullptr;  // during run() only
};

// The variable a pointer is derived from, or null when it is no private variable for sure.
// `unknown` is set when it may be one.
const llvm::AllocaInst* private_variable(const llvm::Value* pointer, bool& unknown);

}  // namespace mlxn::msl
