#include "metal/msl/passes/converge_loops.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LCSSA.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "metal/msl/passes/lane_strides.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// The parts of a loop that ends at the bottom, behind a test whether to enter it at all.
struct LoopParts {
  BasicBlock* guard = nullptr;  // null when the loop is always entered
  BasicBlock* before = nullptr;
  BasicBlock* header = nullptr;
  BasicBlock* latch = nullptr;
  BasicBlock* exit = nullptr;
  std::vector<BasicBlock*> blocks;
  bool staged = false;  // see LaneStrides::is_worth_staging
};

std::optional<LoopParts> parts_of(const Loop& loop, const Uniformity& uniformity) {
  LoopParts parts;
  parts.header = loop.getHeader();
  parts.latch = loop.getLoopLatch();
  if (!parts.latch || loop.getExitingBlock() != parts.latch) return std::nullopt;
  auto* branch = dyn_cast<BranchInst>(parts.latch->getTerminator());
  if (!branch || !branch->isConditional() || uniformity.of_branch(*parts.latch) != Level::kLane)
    return std::nullopt;
  parts.exit = branch->getSuccessor(branch->getSuccessor(0) == parts.header ? 1 : 0);
  parts.before = loop.getLoopPredecessor();
  if (!parts.before || pred_size(parts.header) != 2) return std::nullopt;
  auto guards = [&](BasicBlock* block, BasicBlock* towards) {
    auto* entered = dyn_cast<BranchInst>(block->getTerminator());
    if (!entered || !entered->isConditional()) return false;
    return (entered->getSuccessor(0) == towards && entered->getSuccessor(1) == parts.exit) ||
           (entered->getSuccessor(1) == towards && entered->getSuccessor(0) == parts.exit);
  };
  if (succ_size(parts.before) == 2) {
    if (!guards(parts.before, parts.header)) return std::nullopt;
    parts.guard = parts.before;
  } else if (BasicBlock* one = parts.before->getSinglePredecessor();
             one && guards(one, parts.before) && parts.before->phis().empty()) {
    parts.guard = one;
  }
  // All lanes of the simdgroup must come here together.
  BasicBlock* first = parts.guard ? parts.guard : parts.before;
  if (uniformity.control(*first) == Level::kLane) return std::nullopt;
  parts.blocks.assign(loop.block_begin(), loop.block_end());
  return parts;
}

class Converger {
 public:
  Converger(Function& entry, const LoopParts& parts, const Uniformity& uniformity,
            const DominatorTree& dominators, bool full)
      : entry_(entry),
        context_(entry.getContext()),
        parts_(parts),
        uniformity_(uniformity),
        dominators_(dominators),
        full_(full) {}

  // Returns where rounds without a test begin, if there are any.
  BasicBlock* run() {
    BasicBlock* all_lanes = nullptr;
    if (parts_.guard == parts_.before) parts_.before = SplitEdge(parts_.guard, parts_.header);
    if (parts_.guard) empty_preheader();
    test_ = BasicBlock::Create(context_, "converged", &entry_, parts_.header);
    body_ = BasicBlock::Create(context_, "active", &entry_, parts_.header);
    next_ = BasicBlock::Create(context_, "next", &entry_);
    IRBuilder<> test(test_), body(body_), next(next_);
    auto* branch = cast<BranchInst>(parts_.latch->getTerminator());
    IRBuilder<> latch(branch);
    Value* stays = branch->getCondition();
    if (branch->getSuccessor(0) != parts_.header) stays = latch.CreateNot(stays);

    BranchInst* again = next.CreateBr(test_);
    next.SetInsertPoint(again);
    PHINode* active =
        carry(test.getInt1Ty(), test.getTrue(), test.getFalse(), stays, test.getFalse());
    carry_values();
    for (Instruction* value : kept_) keep(*value);
    Value* votes = ballot(test, active);
    Value* any = test.CreateICmpNE(votes, test.getInt32(0));
    test.CreateCondBr(any, body_, parts_.exit);
    latch.CreateBr(next_);
    branch->eraseFromParent();
    BasicBlock* some = BasicBlock::Create(context_, "some", &entry_, parts_.header);
    BranchInst::Create(parts_.header, next_, active, some);
    if (full_) {
      Value* all = body.CreateICmpEQ(votes, body.getInt32(~0u));
      all_lanes = copy_body();
      body.CreateCondBr(all, all_lanes, some);
    } else {
      body.CreateBr(some);
    }
    for (PHINode& phi : next_->phis()) phi.replaceIncomingBlockWith(body_, some);
    parts_.before->getTerminator()->replaceSuccessorWith(parts_.header, test_);
    if (parts_.guard) parts_.guard->getTerminator()->replaceSuccessorWith(parts_.exit, test_);
    return all_lanes;
  }

 private:
  // A second copy of the loop's code, for rounds in which no lane is switched off.
  BasicBlock* copy_body() {
    ValueToValueMapTy map;
    SmallVector<BasicBlock*, 8> copies;
    for (BasicBlock* block : parts_.blocks) {
      BasicBlock* copy = CloneBasicBlock(block, map, ".all", &entry_);
      map[block] = copy;
      copies.push_back(copy);
    }
    remapInstructionsInBlocks(copies, map);
    auto* last = cast<BasicBlock>(map[parts_.latch]);
    for (PHINode& phi : next_->phis()) {
      Value* value = phi.getIncomingValueForBlock(parts_.latch);
      auto copy = map.find(value);
      phi.addIncoming(copy == map.end() ? value : static_cast<Value*>(copy->second), last);
    }
    return cast<BasicBlock>(map[parts_.header]);
  }

  // What is computed behind the test for the loop's sake moves before it, or, where that could do
  // harm, into the loop.
  void empty_preheader() {
    for (Instruction& instruction : make_early_inc_range(*parts_.before)) {
      if (instruction.isTerminator() || isa<PHINode>(instruction)) continue;
      bool invariant = instruction.hasMetadata(LLVMContext::MD_invariant_load);
      // Whatever it needs must have moved before it.
      bool ready = none_of(instruction.operands(), [&](Value* operand) {
        auto* source = dyn_cast<Instruction>(operand);
        return source && source->getParent() == parts_.before;
      });
      if (ready && !instruction.mayReadOrWriteMemory() &&
          isSafeToSpeculativelyExecute(&instruction))
        instruction.moveBefore(parts_.guard->getTerminator());
      else if (invariant && all_of(instruction.users(), [&](User* user) { return in_body(user); }))
        instruction.moveBefore(&*parts_.header->getFirstInsertionPt());
      else if (!instruction.getType()->isVoidTy())
        kept_.push_back(&instruction);
    }
  }

  bool in_body(User* user) const {
    auto* instruction = cast<Instruction>(user);
    return !isa<PHINode>(user) && instruction->getParent() != parts_.before &&
           dominators_.dominates(parts_.header, instruction->getParent());
  }

  // Hands a value from behind the test to lanes that run the loop.
  void keep(Instruction& value) {
    PHINode* now = PHINode::Create(value.getType(), 3, "", test_->begin());
    value.replaceUsesWithIf(now, [&](Use& use) {
      auto* user = cast<Instruction>(use.getUser());
      if (auto* phi = dyn_cast<PHINode>(user)) return phi->getIncomingBlock(use) != parts_.before;
      return user->getParent() != parts_.before;
    });
    now->addIncoming(&value, parts_.before);
    now->addIncoming(Constant::getNullValue(value.getType()), parts_.guard);
    now->addIncoming(now, next_);
  }

  // A value that lanes in the loop set each time round. Those that have left it hold on to `kept`,
  // or to what they had.
  PHINode* carry(Type* type, Value* entered, Value* skipped, Value* repeated,
                 Value* kept = nullptr) {
    PHINode* now = PHINode::Create(type, 3, "", test_);
    now->addIncoming(entered, parts_.before);
    if (parts_.guard) now->addIncoming(skipped, parts_.guard);
    PHINode* after = PHINode::Create(type, 2, "", next_->getFirstNonPHIIt());
    after->addIncoming(repeated, parts_.latch);
    after->addIncoming(kept ? kept : now, body_);
    now->addIncoming(after, next_);
    return now;
  }

  // What the loop itself carries round, and what it leaves behind. An index that moves by the same
  // step in all lanes is computed from how often the loop has run.
  void carry_values() {
    std::map<Value*, PHINode*> carried;  // by the value at the end of a round
    for (PHINode& phi : make_early_inc_range(parts_.header->phis())) {
      Value* first = phi.getIncomingValueForBlock(parts_.before);
      Value* repeated = phi.getIncomingValueForBlock(parts_.latch);
      Value* value = nullptr;
      if (Value* step = uniform_step(phi, first, repeated)) {
        IRBuilder<> body(body_);
        PHINode* count = counter(phi.getType());
        value = body.CreateAdd(first, body.CreateMul(count, step));
      } else {
        // A lane that skips the loop needs no value here, but the one it leaves behind.
        Value* skipped = left_behind(repeated, Constant::getNullValue(phi.getType()));
        PHINode* now = carry(phi.getType(), first, skipped, repeated);
        carried[repeated] = now;
        value = now;
      }
      phi.replaceAllUsesWith(value);
      phi.eraseFromParent();
    }
    for (PHINode& phi : parts_.exit->phis()) {
      Value* last = phi.getIncomingValueForBlock(parts_.latch);
      Value* skipped = left_behind(last, Constant::getNullValue(phi.getType()), &phi);
      PHINode*& value = carried[last];
      if (!value || skip_value(*value) != skipped)
        value = carry(phi.getType(), Constant::getNullValue(phi.getType()), skipped, last);
      if (parts_.guard) phi.removeIncomingValue(parts_.guard, /*DeletePHIIfEmpty=*/false);
      phi.setIncomingBlock(unsigned(phi.getBasicBlockIndex(parts_.latch)), test_);
      phi.setIncomingValueForBlock(test_, value);
    }
  }

  // What a join behind the loop gets from lanes that skip it, for the value `last` of the others.
  Value* left_behind(Value* last, Value* otherwise, PHINode* at = nullptr) {
    if (!parts_.guard) return otherwise;
    for (PHINode& phi : parts_.exit->phis())
      if ((!at || at == &phi) && phi.getIncomingValueForBlock(parts_.latch) == last)
        return phi.getIncomingValueForBlock(parts_.guard);
    return otherwise;
  }
  Value* skip_value(const PHINode& value) const {
    return parts_.guard ? value.getIncomingValueForBlock(parts_.guard)
                        : Constant::getNullValue(value.getType());
  }

  Value* uniform_step(PHINode& phi, Value* first, Value* repeated) {
    auto* moved = dyn_cast<BinaryOperator>(repeated);
    if (!moved || moved->getOpcode() != Instruction::Add) return nullptr;
    Value* step = moved->getOperand(0) == &phi   ? moved->getOperand(1)
                  : moved->getOperand(1) == &phi ? moved->getOperand(0)
                                                 : nullptr;
    if (!step || uniformity_.of(step) == Level::kLane) return nullptr;
    BasicBlock* place = parts_.guard ? parts_.guard : parts_.before;
    auto available = [&](Value* value) {
      auto* instruction = dyn_cast<Instruction>(value);
      return !instruction || dominators_.dominates(instruction, place->getTerminator());
    };
    return available(step) && available(first) ? step : nullptr;
  }

  PHINode* counter(Type* type) {
    PHINode*& count = counters_[type];
    if (count) return count;
    count = PHINode::Create(type, 3, "round", test_);
    Value* zero = ConstantInt::get(type, 0);
    count->addIncoming(zero, parts_.before);
    if (parts_.guard) count->addIncoming(zero, parts_.guard);
    IRBuilder<> next(next_->getTerminator());
    count->addIncoming(next.CreateAdd(count, ConstantInt::get(type, 1)), next_);
    return count;
  }

  Value* ballot(IRBuilder<>& builder, Value* active) {
    Module& module = *entry_.getParent();
    Type* i32 = builder.getInt32Ty();
    FunctionCallee function = module.getOrInsertFunction("__msl_simd_ballot", i32, i32, i32);
    CallInst* call =
        builder.CreateCall(function, {builder.CreateZExt(active, i32), builder.getInt32(0)});
    call->addFnAttr(Attribute::Convergent);
    return call;
  }

  Function& entry_;
  LLVMContext& context_;
  LoopParts parts_;
  const Uniformity& uniformity_;
  const DominatorTree& dominators_;
  bool full_;
  BasicBlock* test_ = nullptr;
  BasicBlock* body_ = nullptr;
  BasicBlock* next_ = nullptr;
  std::map<Type*, PHINode*> counters_;
  std::vector<Instruction*> kept_;  // values of the preheader that could not move
};

}  // namespace

std::set<BasicBlock*> converge_loops(Function& entry, bool full) {
  DominatorTree dominators(entry);
  LoopInfo loops(dominators);
  // With values of a loop used outside only through joins, changing one loop leaves what is known
  // of the others right.
  for (Loop* loop : loops) formLCSSARecursively(*loop, dominators, &loops, nullptr);
  Uniformity uniformity(entry, full);
  LaneStrides strides(entry, uniformity);
  std::vector<LoopParts> found;
  for (Loop* loop : loops.getLoopsInPreorder()) {
    auto parts = parts_of(*loop, uniformity);
    if (!parts) continue;
    const bool plain = strides.is_worth_vectorising(*loop) || strides.is_search(*loop);
    parts->staged = !plain && full && strides.is_worth_staging(*loop);
    if (plain || parts->staged) found.push_back(*parts);
  }
  std::set<BasicBlock*> apart;
  for (const LoopParts& parts : found) {
    BasicBlock* begin = Converger(entry, parts, uniformity, dominators, full).run();
    if (parts.staged && begin) apart.insert(begin);
  }
  return apart;
}

}  // namespace mlxn::msl
