// Values across regions. A value that one region makes and another needs is, in this order of
// preference: made once for the whole threadgroup at its begin, computed again where it is needed
// (if that is cheap), or kept in a slot.
#pragma once

#include <map>
#include <set>

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"
#include "metal/msl/passes/context_slots.h"
#include "metal/msl/passes/regions.h"
#include "metal/msl/passes/uniformity.h"

namespace mlxn::msl {

// A place in the new function where code of a region is written.
struct Scope {
  Region* region = nullptr;
  llvm::BasicBlock* top = nullptr;   // what comes from elsewhere is made before its terminator
  llvm::Value* simdgroup = nullptr;  // i64 index; null outside the loop over simdgroups
  llvm::Value* lane = nullptr;       // i64; null where code runs once for all lanes
  Scope* outer = nullptr;            // for a lane and after: the code before the loop over lanes
  std::map<const llvm::Value*, llvm::Value*> values;  // by the value in the entry function
};

class RegionValues {
 public:
  // `masked`: lanes go their own ways, so nothing but the threadgroup's own values is uniform.
  RegionValues(llvm::Function& entry, llvm::Function& made, const RegionGraph& graph,
               const Uniformity& uniformity, bool masked);

  // The value of `original` (of the entry function) at the end of scope.top.
  llvm::Value* get(Scope& scope, llvm::Value* original);
  // All lanes' values of `original` as a vector of 32 elements, for an operation.
  llvm::Value* get_vector(Scope& scope, llvm::Value* original);

  // Uniform in the sense that one copy serves all lanes of a region.
  bool is_uniform(const llvm::Value* value) const;

  // The slot of a value; made on first use.
  Slot& slot_for(const llvm::Value* original);
  // Where those who come to a head store a value that joins others there. A value that the whole
  // threadgroup has once, joined where a phase begins, needs a place of its own: every simdgroup
  // stores it at the end of the phase before, in which others may still read the old one.
  Slot& join_slot_for(const llvm::PHINode& phi);
  llvm::Value* load_slot(Scope& scope, Slot& slot, const llvm::Value* original);
  // At the builder's place; in a scope with a lane only that lane's element.
  void store_slot(llvm::IRBuilder<>& builder, Scope& scope, Slot& slot, llvm::Value* value);
  // Slots that were asked for, with the value that must be stored where it is made. Values at the
  // head of a region that join others (phis) are stored by those who come there.
  const llvm::MapVector<const llvm::Value*, Slot*>& slots() const { return slots_; }

  SlotTable& table() { return table_; }
  const Uniformity& uniformity() const { return uniformity_; }

 private:
  bool made_inside(const Scope& scope, const llvm::Value* original) const;
  bool in_prologue(const llvm::Value* value);
  llvm::Value* prologue_value(llvm::Value* value);
  int cost(const llvm::Value* value, int depth);
  llvm::Value* leaf(Scope& scope, llvm::Argument& argument);
  void keep_alive(llvm::AllocaInst& variable, Slot& slot);
  llvm::Value* private_address(Scope& scope, llvm::AllocaInst& variable);
  llvm::Constant* lane_numbers(const llvm::Value* original) const;
  llvm::Value* copy_here(Scope& scope, llvm::Instruction& instruction);

  llvm::Function& entry_;
  llvm::Function& made_;
  const RegionGraph& graph_;
  const Uniformity& uniformity_;
  bool masked_;
  SlotTable table_;
  std::set<const llvm::BasicBlock*> unconditional_;
  std::map<const llvm::Value*, bool> in_prologue_;
  std::map<const llvm::Value*, llvm::Value*> prologue_;
  llvm::MapVector<const llvm::Value*, Slot*> slots_;
  std::map<const llvm::PHINode*, Slot*> join_slots_;
};

}  // namespace mlxn::msl
