#include "metal/msl/passes/trim_loops.h"

#include <optional>

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

namespace mlxn::msl {

using namespace llvm;
using namespace llvm::PatternMatch;

namespace {

// "tested < bound" decides whether an iteration does anything.
struct Guard {
  ICmpInst* test = nullptr;
  bool when_true = true;  // what the test's result is in iterations that do something
  const SCEVAddRecExpr* tested = nullptr;
  Value* bound = nullptr;
};

bool has_effects(const BasicBlock& block) {
  return any_of(block, [](const Instruction& i) { return i.mayHaveSideEffects(); });
}

class Trimmer {
 public:
  Trimmer(Loop& loop, ScalarEvolution& evolution, DominatorTree& tree)
      : loop_(loop), evolution_(evolution), tree_(tree) {}

  bool run() {
    if (!has_suitable_form()) return false;
    std::optional<Guard> guard = find_guard();
    if (!guard) return false;
    shorten(*guard);
    return true;
  }

 private:
  // One counter from zero, one way out at the end, nothing carried over or out, and a first block
  // that may skip the rest.
  bool has_suitable_form() {
    header_ = loop_.getHeader();
    latch_ = loop_.getLoopLatch();
    preheader_ = loop_.getLoopPreheader();
    exit_ = loop_.getExitBlock();
    if (!latch_ || !preheader_ || !exit_ || latch_ == header_ || loop_.getExitingBlock() != latch_)
      return false;
    if (evolution_.getSmallConstantTripCount(&loop_) != 0) return false;
    counter_ = loop_.getCanonicalInductionVariable();
    if (!counter_ || &header_->front() != counter_ || !isa<BranchInst>(preheader_->getTerminator()))
      return false;
    if (isa<PHINode>(counter_->getNextNode()) || isa<PHINode>(latch_->front())) return false;
    if (isa<PHINode>(exit_->front())) return false;
    branch_ = dyn_cast<BranchInst>(header_->getTerminator());
    last_ = dyn_cast<BranchInst>(latch_->getTerminator());
    if (!branch_ || !branch_->isConditional() || !last_ || has_effects(*header_) ||
        has_effects(*latch_))
      return false;
    end_ = dyn_cast<ICmpInst>(last_->getCondition());
    return end_ && end_->getPredicate() == ICmpInst::ICMP_EQ && last_->getSuccessor(0) == exit_ &&
           end_->getOperand(0) == counter_->getIncomingValueForBlock(latch_) &&
           loop_.isLoopInvariant(end_->getOperand(1)) && end_->hasOneUse();
  }

  std::optional<Guard> find_guard() {
    for (unsigned skipping = 0; skipping < 2; ++skipping) {
      if (branch_->getSuccessor(skipping) != latch_) continue;
      // Skipped when the condition is false (successor 1): any part of a conjunction skips it;
      // when it is true: any part of a disjunction.
      SmallVector<Value*, 4> parts = {branch_->getCondition()};
      while (!parts.empty()) {
        Value *part = parts.pop_back_val(), *a = nullptr, *b = nullptr;
        bool split = skipping == 1 ? match(part, m_LogicalAnd(m_Value(a), m_Value(b)))
                                   : match(part, m_LogicalOr(m_Value(a), m_Value(b)));
        if (split) {
          parts.append({a, b});
        } else if (auto guard = as_guard(part, skipping == 1)) {
          return guard;
        }
      }
    }
    return std::nullopt;
  }

  // A test of the form "rising value < invariant value", in any spelling of it.
  std::optional<Guard> as_guard(Value* condition, bool when_true) {
    auto* test = dyn_cast<ICmpInst>(condition);
    if (!test || !loop_.contains(test)) return std::nullopt;
    CmpInst::Predicate predicate = when_true ? test->getPredicate() : test->getInversePredicate();
    Value *left = test->getOperand(0), *right = test->getOperand(1);
    if (predicate == ICmpInst::ICMP_UGT) {
      std::swap(left, right);
      predicate = ICmpInst::ICMP_ULT;
    }
    if (predicate != ICmpInst::ICMP_ULT || !loop_.isLoopInvariant(right)) return std::nullopt;
    // A value that wraps is poison and must not decide a branch, so a flag on either side will do.
    auto* sum = dyn_cast<OverflowingBinaryOperator>(left);
    bool never_wraps = sum && sum->hasNoUnsignedWrap() && is_contained(sum->operands(), counter_);
    auto* tested = dyn_cast<SCEVAddRecExpr>(evolution_.getSCEV(left));
    if (!tested || tested->getLoop() != &loop_ || !(tested->hasNoUnsignedWrap() || never_wraps) ||
        !tested->getStepRecurrence(evolution_)->isOne() ||
        tested->getType()->getIntegerBitWidth() >
            end_->getOperand(1)->getType()->getIntegerBitWidth())
      return std::nullopt;
    return Guard{test, when_true, tested, right};
  }

  // Ends the loop after as many iterations as pass the test; none at all leaves it out.
  void shorten(const Guard& guard) {
    SCEVExpander expander(evolution_, header_->getModule()->getDataLayout(), "trim");
    Instruction* where = preheader_->getTerminator();
    Value* start = expander.expandCodeFor(guard.tested->getStart(), guard.tested->getType(), where);
    IRBuilder<> b(where);
    Value* count = end_->getOperand(1);
    Value* passing =
        b.CreateSelect(b.CreateICmpULT(start, guard.bound), b.CreateSub(guard.bound, start),
                       Constant::getNullValue(start->getType()));
    Value* shorter =
        b.CreateBinaryIntrinsic(Intrinsic::umin, count, b.CreateZExt(passing, count->getType()));
    Value* none = b.CreateICmpEQ(shorter, Constant::getNullValue(count->getType()));
    b.CreateCondBr(none, exit_, header_);
    where->eraseFromParent();
    end_->setOperand(1, shorter);
    Value* passed = b.getInt1(guard.when_true);
    guard.test->replaceUsesWithIf(passed, [&](Use& use) {
      auto* user = dyn_cast<Instruction>(use.getUser());
      return user && user->getParent() == header_;
    });
    tree_.insertEdge(preheader_, exit_);
    evolution_.forgetLoop(&loop_);
  }

  Loop& loop_;
  ScalarEvolution& evolution_;
  DominatorTree& tree_;
  BasicBlock *header_ = nullptr, *latch_ = nullptr, *preheader_ = nullptr, *exit_ = nullptr;
  PHINode* counter_ = nullptr;
  BranchInst *branch_ = nullptr, *last_ = nullptr;
  ICmpInst* end_ = nullptr;
};

}  // namespace

PreservedAnalyses TrimLoops::run(Function& function, FunctionAnalysisManager& manager) {
  auto& loops = manager.getResult<LoopAnalysis>(function);
  auto& evolution = manager.getResult<ScalarEvolutionAnalysis>(function);
  auto& tree = manager.getResult<DominatorTreeAnalysis>(function);
  bool changed = false;
  for (Loop* loop : loops.getLoopsInPreorder())
    if (loop->isInnermost()) changed |= Trimmer(*loop, evolution, tree).run();
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

}  // namespace mlxn::msl
