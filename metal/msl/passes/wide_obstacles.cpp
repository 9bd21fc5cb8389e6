#include "metal/msl/passes/wide_obstacles.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "metal/msl/passes/packed_dot.h"
#include "metal/msl/passes/target_features.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

class Obstacles {
 public:
  Obstacles(Function& entry, const ThreadSteps& steps, const std::vector<PairedBranch>& branches)
      : entry_(entry), steps_(steps), dominators_(entry), loops_(dominators_) {
    for (const PairedBranch& pair : branches)
      for (const BranchSide& side : pair.sides)
        for (BasicBlock* block : pair.blocks(side)) masked_.insert(block);
  }

  std::optional<Refusal> find() const {
    for (const BasicBlock& block : entry_)
      for (const Instruction& instruction : block)
        if (const char* why = of(instruction)) return Refusal{why, instruction.getDebugLoc()};
    return std::nullopt;
  }

 private:
  const char* of(const Instruction& instruction) const {
    if (instruction.isTerminator())
      return isa<BranchInst>(instruction) || isa<ReturnInst>(instruction) ? nullptr : "a switch";
    if (is_note(instruction)) return nullptr;
    if (isa<AllocaInst>(instruction)) return "a private array";
    if (isa<LoadInst>(instruction) || isa<StoreInst>(instruction)) return of_access(instruction);
    if (isa<PHINode>(instruction) || steps_.of(&instruction).steps()) return of_type(instruction);
    if (const auto* call = dyn_cast<CallInst>(&instruction)) return of_call(*call);
    if (instruction.mayReadOrWriteMemory()) return "an atomic operation";
    for (const Value* operand : instruction.operands())
      if (operand->getType()->isVectorTy()) return "a vector as a whole";
    bool known = isa<BinaryOperator>(instruction) || isa<CastInst>(instruction) ||
                 isa<CmpInst>(instruction) || isa<SelectInst>(instruction) ||
                 isa<UnaryOperator>(instruction) || isa<FreezeInst>(instruction) ||
                 isa<GetElementPtrInst>(instruction);
    return known ? of_type(instruction) : "an operation without a form for vectors";
  }

  const char* of_type(const Instruction& instruction) const {
    if (steps_.uniform(&instruction)) return nullptr;
    Type* type = instruction.getType();
    return type->isVectorTy() || type->isAggregateType() ? "a vector as a whole" : nullptr;
  }

  const char* of_call(const CallInst& call) const {
    if (packed_dot(call)) return nullptr;
    Intrinsic::ID id = call.getIntrinsicID();
    if (id == Intrinsic::not_intrinsic || !isTriviallyVectorizable(id)) return "a call";
    for (unsigned i = 0; i < call.arg_size(); ++i)
      if (isVectorIntrinsicWithScalarOpAtArg(id, i) && !steps_.uniform(call.getArgOperand(i)))
        return "a call";
    return of_type(call);
  }

  const char* of_access(const Instruction& access) const {
    const auto* load = dyn_cast<LoadInst>(&access);
    const auto* store = dyn_cast<StoreInst>(&access);
    if (load ? !load->isSimple() : !store->isSimple()) return "an atomic operation";
    const Value* address = getLoadStorePointerOperand(&access);
    Type* type = getLoadStoreType(const_cast<Instruction*>(&access));
    if (steps_.uniform(address))
      return load || steps_.uniform(store->getValueOperand()) ? nullptr
                                                              : "threads write to one place";
    if (type->isVectorTy() || type->isAggregateType()) return "a vector as a whole";
    if (steps_.side_by_side(address, type))
      return masked_.contains(access.getParent()) && !has_masked(*type)
                 ? "the processor has no masked access"
                 : nullptr;
    return loops_.getLoopFor(access.getParent()) ? "threads of a loop use memory that is not "
                                                   "side by side, as far as is known"
                                                 : nullptr;
  }

  bool has_masked(const Type& type) const {
    if (has_feature(entry_, "+avx512bw")) return true;
    unsigned bits = type.isPointerTy() ? 64 : type.getScalarSizeInBits();
    return has_feature(entry_, "+avx2") && (bits == 32 || bits == 64);
  }

  Function& entry_;
  const ThreadSteps& steps_;
  DominatorTree dominators_;
  LoopInfo loops_;
  SmallPtrSet<const BasicBlock*, 16> masked_;
};

}  // namespace

bool is_note(const Instruction& instruction) {
  return isa<LifetimeIntrinsic>(instruction) || isa<AssumeInst>(instruction) ||
         isa<DbgInfoIntrinsic>(instruction) || isa<NoAliasScopeDeclInst>(instruction);
}

std::optional<Refusal> find_wide_obstacle(Function& entry, const ThreadSteps& steps,
                                          const std::vector<PairedBranch>& branches) {
  return Obstacles(entry, steps, branches).find();
}

}  // namespace mlxn::msl
