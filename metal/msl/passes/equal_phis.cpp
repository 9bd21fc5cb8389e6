#include "metal/msl/passes/equal_phis.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Instructions.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// The instruction that all incoming values are copies of; null if they differ. Its operands are
// there on every path, so they are there where the paths join.
Instruction* common(PHINode& phi) {
  auto* first = dyn_cast<Instruction>(phi.getIncomingValue(0));
  if (!first || isa<PHINode>(first) || isa<AllocaInst>(first) || first->mayReadOrWriteMemory() ||
      !isSafeToSpeculativelyExecute(first))
    return nullptr;
  for (Value* value : drop_begin(phi.incoming_values())) {
    auto* other = dyn_cast<Instruction>(value);
    if (!other || !other->isIdenticalToWhenDefined(first)) return nullptr;
  }
  return first;
}

bool join_one(PHINode& phi) {
  Instruction* first = common(phi);
  if (!first || is_contained(first->operands(), &phi)) return false;
  Instruction* joined = first->clone();
  for (Value* value : phi.incoming_values()) joined->andIRFlags(value);
  joined->insertBefore(*phi.getParent(), phi.getParent()->getFirstInsertionPt());
  phi.replaceAllUsesWith(joined);
  phi.eraseFromParent();
  return true;
}

}  // namespace

void join_equal_phis(Function& function) {
  // One that is joined may make the operands of the next ones the same.
  for (bool changed = true; changed;) {
    changed = false;
    for (BasicBlock& block : function)
      for (PHINode& phi : make_early_inc_range(block.phis())) changed |= join_one(phi);
  }
}

}  // namespace mlxn::msl
