#include "metal/msl/passes/wide_loop.h"

#include <map>

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"
#include "llvm/Transforms/Utils/UnifyFunctionExitNodes.h"
#include "metal/msl/passes/packed_dot.h"
#include "metal/msl/passes/paired_branches.h"
#include "metal/msl/passes/thread_steps.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// What tells the compiler something and does nothing.
bool is_note(const Instruction& instruction) {
  return isa<LifetimeIntrinsic>(instruction) || isa<AssumeInst>(instruction) ||
         isa<DbgInfoIntrinsic>(instruction) || isa<NoAliasScopeDeclInst>(instruction);
}

bool is_division(const Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case Instruction::SDiv:
    case Instruction::UDiv:
    case Instruction::SRem:
    case Instruction::URem: return true;
    default: return false;
  }
}

// Why a kernel is not run this way.
class Obstacles {
 public:
  Obstacles(Function& entry, const ThreadSteps& steps, const std::vector<PairedBranch>& branches)
      : entry_(entry), steps_(steps), dominators_(entry), loops_(dominators_) {
    for (const PairedBranch& pair : branches)
      for (const BranchSide& side : pair.sides)
        for (BasicBlock* block : pair.blocks(side)) masked_.insert(block);
  }

  std::optional<Refusal> find() const {
    if (loops_.empty()) return Refusal{"no loop: LLVM's vectoriser does as well", {}};
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
    StringRef features = entry_.getFnAttribute("target-features").getValueAsString();
    if (features.contains("+avx512bw")) return true;
    unsigned bits = type.isPointerTy() ? 64 : type.getScalarSizeInBits();
    return features.contains("+avx2") && (bits == 32 || bits == 64);
  }

  Function& entry_;
  const ThreadSteps& steps_;
  DominatorTree dominators_;
  LoopInfo loops_;
  SmallPtrSet<const BasicBlock*, 16> masked_;
};

class Widener {
 public:
  Widener(Function& entry, const ThreadSteps& steps, const std::vector<PairedBranch>& branches)
      : entry_(entry), steps_(steps) {
    for (const PairedBranch& pair : branches) {
      branches_[pair.branch->getParent()] = &pair;
      joins_[pair.join] = &pair;
    }
  }

  Function* run() {
    made_ = Function::Create(entry_.getFunctionType(), GlobalValue::InternalLinkage, "",
                             entry_.getParent());
    made_->copyAttributesFrom(&entry_);
    for (unsigned i = 0; i < entry_.arg_size(); ++i) scalars_[entry_.getArg(i)] = made_->getArg(i);
    for (BasicBlock& block : entry_)
      blocks_[&block] = BasicBlock::Create(entry_.getContext(), block.getName(), made_);
    ReversePostOrderTraversal<Function*> order(&entry_);
    for (BasicBlock* block : order) widen_block(*block);
    fill_phis();
    keep_definitions_before_uses();
    return made_;
  }

 private:
  Type* wide(Type* type) { return FixedVectorType::get(type, kSetSize); }

  // The first thread's value; of one that varies, only where the instruction asks for a scalar.
  Value* scalar(IRBuilder<>& builder, Value* value) {
    if (isa<Constant>(value) || isa<MetadataAsValue>(value)) return value;
    if (Value* found = scalars_.lookup(value)) return found;
    return builder.CreateExtractElement(vectors_.lookup(value), uint64_t{0});
  }

  Value* vector(IRBuilder<>& builder, Value* value) {
    if (auto* constant = dyn_cast<Constant>(value))
      return ConstantVector::getSplat(ElementCount::getFixed(kSetSize), constant);
    if (Value* found = vectors_.lookup(value)) return found;
    Value* splat = builder.CreateVectorSplat(kSetSize, scalars_.lookup(value));
    ThreadStep step = steps_.of(value);
    if (step.uniform()) return splat;
    bool pointer = value->getType()->isPointerTy();
    Type* type = pointer ? builder.getInt64Ty() : value->getType();
    SmallVector<Constant*, kSetSize> offsets;
    for (unsigned i = 0; i < kSetSize; ++i)
      offsets.push_back(ConstantInt::get(type, uint64_t(step.step * int64_t(i)), true));
    if (pointer) return builder.CreateGEP(builder.getInt8Ty(), splat, ConstantVector::get(offsets));
    return builder.CreateAdd(splat, ConstantVector::get(offsets));
  }

  // Lanes of the block's mask, or all.
  Value* lanes(IRBuilder<>& builder) {
    return mask_ ? mask_ : ConstantInt::getTrue(wide(builder.getInt1Ty()));
  }

  // The first block of a side has its mask from the branch; behind branches that all threads take
  // alike it stays.
  Value* mask_of(BasicBlock& block) {
    if (auto join = joins_.find(&block); join != joins_.end())
      return masks_.lookup(join->second->branch->getParent());
    if (auto found = masks_.find(&block); found != masks_.end()) return found->second;
    for (BasicBlock* from : predecessors(&block))
      if (auto found = masks_.find(from); found != masks_.end()) return found->second;
    return nullptr;
  }

  void widen_block(BasicBlock& block) {
    IRBuilder<> builder(blocks_[&block]);
    mask_ = mask_of(block);
    masks_[&block] = mask_;
    for (Instruction& instruction : block) widen(builder, instruction);
    ends_[&block] = builder.GetInsertBlock();
  }

  void widen(IRBuilder<>& builder, Instruction& instruction) {
    if (is_note(instruction)) return;
    if (instruction.isTerminator()) return widen_end(builder, instruction);
    if (auto* phi = dyn_cast<PHINode>(&instruction)) return widen_phi(builder, *phi);
    if (auto* store = dyn_cast<StoreInst>(&instruction)) return widen_store(builder, *store);
    if (steps_.of(&instruction).steps()) {
      scalars_[&instruction] = clone_scalar(builder, instruction);
      return;
    }
    vectors_[&instruction] = widen_value(builder, instruction);
  }

  // What holds of each thread's value holds of the first one's.
  Instruction* clone_scalar(IRBuilder<>& builder, Instruction& instruction) {
    Instruction* copy = instruction.clone();
    for (Use& operand : copy->operands())
      if (auto* block = dyn_cast<BasicBlock>(operand.get()))
        operand.set(blocks_[block]);
      else
        operand.set(scalar(builder, operand.get()));
    builder.Insert(copy);
    return copy;
  }

  void widen_end(IRBuilder<>& builder, Instruction& end) {
    BasicBlock* block = end.getParent();
    if (auto after = after_.find(block); after != after_.end()) {
      builder.CreateBr(after->second);
    } else if (auto pair = branches_.find(block); pair != branches_.end()) {
      part(builder, *pair->second);
    } else {
      clone_scalar(builder, end);
    }
  }

  // One side after the other, each for its own lanes and only if there are any.
  void part(IRBuilder<>& builder, const PairedBranch& pair) {
    Value* truth = vector(builder, pair.branch->getCondition());
    conditions_[&pair] = truth;
    for (const BranchSide& side : pair.sides) {
      if (!side.head) continue;
      bool last = &side == &pair.sides[1] || !pair.sides[1].head;
      BasicBlock* next = blocks_[pair.join];
      if (!last) next = BasicBlock::Create(entry_.getContext(), "else", made_, next);
      Value* chosen = &side == &pair.sides[0] ? truth : builder.CreateNot(truth);
      Value* mask = mask_ ? builder.CreateLogicalAnd(mask_, chosen) : chosen;
      masks_[side.head] = mask;
      Value* bits = builder.CreateBitCast(mask, builder.getIntNTy(kSetSize));
      builder.CreateCondBr(builder.CreateIsNotNull(bits), blocks_[side.head], next);
      after_[side.end] = next;
      if (!last) builder.SetInsertPoint(next);
    }
  }

  void widen_phi(IRBuilder<>& builder, PHINode& phi) {
    bool steps = steps_.of(&phi).steps();
    if (auto join = joins_.find(phi.getParent()); join != joins_.end()) {
      const PairedBranch& pair = *join->second;
      Value* from[] = {phi.getIncomingValueForBlock(pair.sides[0].end),
                       phi.getIncomingValueForBlock(pair.sides[1].end)};
      if (steps)
        scalars_[&phi] = scalar(builder, from[0]);  // both are the same
      else
        vectors_[&phi] = builder.CreateSelect(conditions_[&pair], vector(builder, from[0]),
                                              vector(builder, from[1]));
      return;
    }
    PHINode* copy =
        builder.CreatePHI(steps ? phi.getType() : wide(phi.getType()), phi.getNumIncomingValues());
    (steps ? scalars_ : vectors_)[&phi] = copy;
    phis_.push_back({&phi, copy});
  }

  void fill_phis() {
    for (auto& [phi, copy] : phis_)
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
        BasicBlock* from = ends_[phi->getIncomingBlock(i)];
        IRBuilder<> builder(from->getTerminator());
        Value* value = phi->getIncomingValue(i);
        copy->addIncoming(steps_.of(phi).steps() ? scalar(builder, value) : vector(builder, value),
                          from);
      }
  }

  // Where a side is left out, what it would have made is nobody's.
  void keep_definitions_before_uses() {
    EliminateUnreachableBlocks(*made_);
    if (branches_.empty()) return;
    DominatorTree dominators(*made_);
    for (BasicBlock& block : *made_)
      for (Instruction& instruction : block) {
        SmallVector<Use*, 4> uses;
        for (Use& use : instruction.uses())
          if (!dominators.dominates(&instruction, use)) uses.push_back(&use);
        if (uses.empty()) continue;
        SSAUpdater values;
        values.Initialize(instruction.getType(), "");
        values.AddAvailableValue(&made_->getEntryBlock(), PoisonValue::get(instruction.getType()));
        values.AddAvailableValue(&block, &instruction);
        for (Use* use : uses) values.RewriteUse(*use);
      }
  }

  void widen_store(IRBuilder<>& builder, StoreInst& store) {
    Value *value = store.getValueOperand(), *address = store.getPointerOperand();
    if (steps_.uniform(address)) {
      clone_scalar(builder, store);
    } else if (!steps_.side_by_side(address, value->getType())) {
      builder.CreateMaskedScatter(vector(builder, value), vector(builder, address),
                                  store.getAlign(), lanes(builder));
    } else if (mask_) {
      builder.CreateMaskedStore(vector(builder, value), scalar(builder, address), store.getAlign(),
                                mask_);
    } else {
      builder.CreateAlignedStore(vector(builder, value), scalar(builder, address),
                                 store.getAlign());
    }
  }

  Value* widen_load(IRBuilder<>& builder, LoadInst& load) {
    Value* address = load.getPointerOperand();
    Type* type = wide(load.getType());
    Instruction* made = nullptr;
    if (!steps_.side_by_side(address, load.getType()))
      made = builder.CreateMaskedGather(type, vector(builder, address), load.getAlign(),
                                        lanes(builder), Constant::getNullValue(type));
    else if (mask_)
      made = builder.CreateMaskedLoad(type, scalar(builder, address), load.getAlign(), mask_,
                                      Constant::getNullValue(type));
    else
      made = builder.CreateAlignedLoad(type, scalar(builder, address), load.getAlign());
    if (MDNode* invariant = load.getMetadata(LLVMContext::MD_invariant_load))
      made->setMetadata(LLVMContext::MD_invariant_load, invariant);
    return made;
  }

  Value* widen_call(IRBuilder<>& builder, CallInst& call) {
    if (auto kind = packed_dot(call)) {
      SmallVector<Value*, 3> operands;
      for (Value* argument : call.args()) operands.push_back(vector(builder, argument));
      return emit_packed_dot(builder, *kind, operands);
    }
    Intrinsic::ID id = call.getIntrinsicID();
    SmallVector<Value*, 4> operands;
    SmallVector<Type*, 2> types;
    if (isVectorIntrinsicWithOverloadTypeAtArg(id, -1)) types.push_back(wide(call.getType()));
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      Value* argument = call.getArgOperand(i);
      operands.push_back(isVectorIntrinsicWithScalarOpAtArg(id, i) ? scalar(builder, argument)
                                                                   : vector(builder, argument));
      if (isVectorIntrinsicWithOverloadTypeAtArg(id, int(i)))
        types.push_back(operands.back()->getType());
    }
    CallInst* made =
        builder.CreateCall(Intrinsic::getDeclaration(entry_.getParent(), id, types), operands);
    if (isa<FPMathOperator>(made)) made->copyFastMathFlags(&call);
    return made;
  }

  Value* widen_value(IRBuilder<>& builder, Instruction& instruction) {
    auto operand = [&](unsigned i) { return vector(builder, instruction.getOperand(i)); };
    if (auto* load = dyn_cast<LoadInst>(&instruction)) return widen_load(builder, *load);
    if (auto* call = dyn_cast<CallInst>(&instruction)) return widen_call(builder, *call);
    if (auto* address = dyn_cast<GetElementPtrInst>(&instruction)) {
      SmallVector<Value*, 4> indices;
      for (unsigned i = 1; i < address->getNumOperands(); ++i)
        indices.push_back(isa<Constant>(address->getOperand(i)) ? address->getOperand(i)
                                                                : operand(i));
      return builder.CreateGEP(address->getSourceElementType(), operand(0), indices);
    }
    if (auto* made = dyn_cast<CastInst>(&instruction))
      return with_flags(builder.CreateCast(made->getOpcode(), operand(0), wide(made->getType())),
                        instruction);
    if (auto* made = dyn_cast<CmpInst>(&instruction))
      return with_flags(builder.CreateCmp(made->getPredicate(), operand(0), operand(1)),
                        instruction);
    if (isa<SelectInst>(instruction)) {
      Value* condition = instruction.getOperand(0);
      condition = steps_.uniform(condition) ? scalar(builder, condition) : operand(0);
      return with_flags(builder.CreateSelect(condition, operand(1), operand(2)), instruction);
    }
    if (isa<FreezeInst>(instruction)) return builder.CreateFreeze(operand(0));
    if (auto* unary = dyn_cast<UnaryOperator>(&instruction))
      return with_flags(builder.CreateUnOp(unary->getOpcode(), operand(0)), instruction);
    Value* right = operand(1);
    // Lanes that are switched off must not divide by what they hold.
    if (mask_ && is_division(instruction))
      right = builder.CreateSelect(mask_, right, ConstantInt::get(right->getType(), 1));
    return with_flags(
        builder.CreateBinOp(cast<BinaryOperator>(instruction).getOpcode(), operand(0), right),
        instruction);
  }

  Value* with_flags(Value* made, const Instruction& from) {
    if (auto* instruction = dyn_cast<Instruction>(made)) instruction->copyIRFlags(&from);
    return made;
  }

  Function& entry_;
  const ThreadSteps& steps_;
  Function* made_ = nullptr;
  Value* mask_ = nullptr;  // lanes that run the block that is being widened; null: all
  DenseMap<const BasicBlock*, BasicBlock*> blocks_, ends_;
  DenseMap<const BasicBlock*, Value*> masks_;
  DenseMap<const BasicBlock*, const PairedBranch*> branches_, joins_;
  DenseMap<const BasicBlock*, BasicBlock*> after_;  // where the end of a side goes
  DenseMap<const PairedBranch*, Value*> conditions_;
  DenseMap<const Value*, Value*> scalars_, vectors_;
  std::vector<std::pair<PHINode*, PHINode*>> phis_;
};

// `copy` may be taken apart.
Function* widen(Function& copy, std::optional<Refusal>& refusal) {
  EliminateUnreachableBlocks(copy);
  std::vector<PairedBranch> branches;
  refusal = pair_branches(copy, branches);
  if (refusal) return nullptr;
  ThreadSteps steps(copy);
  refusal = Obstacles(copy, steps, branches).find();
  return refusal ? nullptr : Widener(copy, steps, branches).run();
}

}  // namespace

Function* make_wide(Function& entry, std::optional<Refusal>& refusal) {
  ValueToValueMapTy map;
  Function* copy = CloneFunction(&entry, map);
  FunctionAnalysisManager none;
  UnifyFunctionExitNodesPass().run(*copy, none);
  Function* made = widen(*copy, refusal);
  copy->deleteBody();
  copy->eraseFromParent();
  if (made) made->setName(entry.getName() + ".wide");
  return made;
}

}  // namespace mlxn::msl
