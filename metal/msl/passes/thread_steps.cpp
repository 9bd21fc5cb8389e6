#include "metal/msl/passes/thread_steps.h"

#include <cstddef>

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "metal/msl/kernel_abi.h"
#include "metal/msl/passes/entry.h"

namespace mlxn::msl {

using namespace llvm;
using namespace llvm::PatternMatch;

namespace {

using Kind = ThreadStep::Kind;

constexpr int64_t kLargest = 1 << 24;  // factor of a step, so that steps stay far from 2^63

constexpr ThreadStep kUnknown{};
constexpr ThreadStep kVaries{Kind::kVaries};

ThreadStep stepping(int64_t step, bool whole = false) {
  return {Kind::kSteps, step, whole};
}

// Consecutive numbers from a multiple of 16 on.
bool is_place(const ThreadStep& step) {
  return step == stepping(1, true);
}

bool is_dispatch_width(const LoadInst& load, const Function& entry) {
  const DataLayout& layout = entry.getParent()->getDataLayout();
  APInt offset(layout.getIndexTypeSizeInBits(load.getPointerOperandType()), 0);
  const Value* base =
      load.getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
  return base == entry.getArg(kDispatch) &&
         offset == offsetof(MslDispatch, threads_per_threadgroup);
}

// What both may be; knowledge only gets less, so that the search ends.
ThreadStep joined(const ThreadStep& a, const ThreadStep& b) {
  if (a.kind == Kind::kUnknown) return b;
  if (b.kind == Kind::kUnknown) return a;
  if (!a.steps() || !b.steps() || a.step != b.step) return kVaries;
  return stepping(a.step, a.whole && b.whole);
}

}  // namespace

ThreadSteps::ThreadSteps(Function& entry) : entry_(entry) {
  PostDominatorTree after(entry);
  for (BasicBlock& block : entry) {
    auto* branch = dyn_cast<BranchInst>(block.getTerminator());
    if (!branch || branch->isUnconditional()) continue;
    auto* node = after.getNode(&block);
    if (node && node->getIDom() && node->getIDom()->getBlock())
      joins_[node->getIDom()->getBlock()].push_back(branch->getCondition());
  }
  ReversePostOrderTraversal<Function*> order(&entry);
  for (bool changed = true; changed;) {
    changed = false;
    for (BasicBlock* block : order)
      for (Instruction& instruction : *block) {
        ThreadStep& known = steps_[&instruction];
        ThreadStep now = joined(known, evaluate(instruction));
        changed |= !(now == known);
        known = now;
      }
  }
}

ThreadStep ThreadSteps::of(const Value* value) const {
  if (const auto* number = dyn_cast<ConstantInt>(value))
    return stepping(0, number->getValue().countr_zero() >= 4);
  if (isa<Constant>(value) || isa<BasicBlock>(value)) return stepping(0);
  if (const auto* argument = dyn_cast<Argument>(value)) {
    unsigned number = argument->getArgNo();
    return number == kPositionX || number == kThread ? stepping(1, true) : stepping(0);
  }
  auto found = steps_.find(value);
  return found == steps_.end() ? kUnknown : found->second;
}

bool ThreadSteps::side_by_side(const Value* address, Type* type) const {
  const DataLayout& layout = entry_.getParent()->getDataLayout();
  ThreadStep step = of(address);
  return step.steps() && step.step == int64_t(layout.getTypeStoreSize(type).getFixedValue()) &&
         layout.getTypeStoreSize(type) == layout.getTypeAllocSize(type);
}

bool ThreadSteps::diverges(const BasicBlock& block) const {
  const auto* branch = dyn_cast<BranchInst>(block.getTerminator());
  return branch && branch->isConditional() && !uniform(branch->getCondition()) &&
         branch->getSuccessor(0) != branch->getSuccessor(1);
}

ThreadStep ThreadSteps::evaluate_phi(const PHINode& phi) const {
  ThreadStep result;
  for (const Value* incoming : phi.incoming_values()) result = joined(result, of(incoming));
  auto join = joins_.find(phi.getParent());
  if (join == joins_.end() || phi.hasConstantValue()) return result;
  for (const Value* choice : join->second)
    if (of(choice).kind != Kind::kUnknown && !uniform(choice)) return kVaries;
  return result;
}

ThreadStep ThreadSteps::evaluate_call(const CallInst& call) const {
  if (!call.doesNotAccessMemory() || call.isConvergent()) return kVaries;
  for (const Value* argument : call.args())
    if (!uniform(argument)) return kVaries;
  return stepping(0);
}

// The address of an element: indices are extended to 64 bits.
ThreadStep ThreadSteps::evaluate_address(GetElementPtrInst& address) const {
  const DataLayout& layout = entry_.getParent()->getDataLayout();
  if (address.getType()->isVectorTy()) return kVaries;
  int64_t total = of(address.getPointerOperand()).step;
  unsigned i = 1;
  for (auto at = gep_type_begin(address), end = gep_type_end(address); at != end; ++at, ++i) {
    const Value* index = address.getOperand(i);
    int64_t step = of(index).step;
    if (step == 0) continue;
    uint64_t size = at.getSequentialElementStride(layout).getFixedValue();
    bool narrow = index->getType()->getScalarSizeInBits() < 64;
    if (size >= kLargest || (narrow && !extends(index, true))) return kVaries;
    total += step * int64_t(size);
  }
  return stepping(total);
}

ThreadStep ThreadSteps::evaluate_binary(BinaryOperator& operation) const {
  ThreadStep a = of(operation.getOperand(0)), b = of(operation.getOperand(1));
  const APInt* number = nullptr;
  bool constant = match(operation.getOperand(1), m_APInt(number));
  bool uniform = a.uniform() && b.uniform();
  switch (operation.getOpcode()) {
    case Instruction::Add: return stepping(a.step + b.step, a.whole && b.whole);
    case Instruction::Sub: return stepping(a.step - b.step, a.whole && b.whole);
    case Instruction::Or:
      if (uniform) return stepping(0, a.whole && b.whole);
      if (!cast<PossiblyDisjointInst>(operation).isDisjoint()) return kVaries;
      return stepping(a.step + b.step, a.whole && b.whole);
    case Instruction::Mul:
      if (uniform) return stepping(0, a.whole || b.whole);
      if (!constant || number->getSignificantBits() > 24) return kVaries;
      return stepping(a.step * number->getSExtValue(), a.whole || b.whole);
    case Instruction::Shl:
      if (uniform) return stepping(0, a.whole || (constant && number->uge(4)));
      if (!constant || number->uge(24)) return kVaries;
      return stepping(a.step << number->getZExtValue(), a.whole || number->uge(4));
    case Instruction::LShr:
      if (is_place(a) && constant && number->uge(4)) return stepping(0);
      break;
    case Instruction::And:
      if (uniform) return stepping(0, a.whole || b.whole);
      if (is_place(a) && constant && number->countr_zero() >= 4) return stepping(0, true);
      if (is_place(a) && constant && number->countr_one() >= 4) return stepping(1, true);
      break;
    default: break;
  }
  return uniform ? stepping(0) : kVaries;
}

ThreadStep ThreadSteps::evaluate(Instruction& instruction) const {
  constexpr int64_t kFar = int64_t{1} << 32;
  constexpr unsigned kNarrow = 8;  // bits in which 16 steps are not worth following
  if (const auto* phi = dyn_cast<PHINode>(&instruction)) return evaluate_phi(*phi);
  bool uniform = true, steps = true;
  for (const Value* operand : instruction.operands()) {
    ThreadStep step = of(operand);
    if (step.kind == Kind::kUnknown) return kUnknown;
    uniform &= step.uniform();
    steps &= step.steps() && std::abs(step.step) < kFar;
  }
  if (isa<AllocaInst>(instruction)) return kVaries;
  if (const auto* call = dyn_cast<CallInst>(&instruction)) return evaluate_call(*call);
  if (const auto* load = dyn_cast<LoadInst>(&instruction)) {
    if (!uniform || !load->isSimple()) return kVaries;
    return stepping(0, is_dispatch_width(*load, entry_));
  }
  if (instruction.mayReadOrWriteMemory()) return kVaries;
  auto* integer = dyn_cast<IntegerType>(instruction.getType());
  if (!steps || (!uniform && integer && integer->getBitWidth() < kNarrow)) return kVaries;
  if (auto* address = dyn_cast<GetElementPtrInst>(&instruction)) return evaluate_address(*address);
  if (auto* operation = dyn_cast<BinaryOperator>(&instruction)) return evaluate_binary(*operation);
  const Value* operand = instruction.getNumOperands() > 0 ? instruction.getOperand(0) : nullptr;
  switch (instruction.getOpcode()) {
    case Instruction::Trunc:
      return uniform || instruction.getType()->getScalarSizeInBits() >= kNarrow ? of(operand)
                                                                                : kVaries;
    case Instruction::ZExt:
    case Instruction::SExt:
      if (uniform || extends(operand, instruction.getOpcode() == Instruction::SExt))
        return of(operand);
      return kVaries;
    default: return uniform ? stepping(0) : kVaries;
  }
}

// Whether the threads' values of a value that steps stand in order as whole numbers, so that they
// do so as a wider type too.
bool ThreadSteps::extends(const Value* value, bool is_signed) const {
  ThreadStep step = of(value);
  unsigned width = value->getType()->getScalarSizeInBits();
  // The wrap lies between multiples of 16.
  if (step.uniform() || is_place(step)) return true;
  if (std::abs(step.step) * kSetSize >= int64_t{1} << std::min(width - 1, 40u)) return false;
  // No thread's value is in the upper half: none is beyond a wrap.
  if (computeKnownBits(value, entry_.getParent()->getDataLayout()).isNonNegative()) return true;
  const auto* operation = dyn_cast<BinaryOperator>(value);
  if (!operation || !isa<OverflowingBinaryOperator>(operation)) return false;
  bool exact = is_signed ? operation->hasNoSignedWrap() : operation->hasNoUnsignedWrap();
  return exact && all_of(operation->operands(), [&](const Use& operand) {
           return isa<Constant>(operand) || extends(operand, is_signed);
         });
}

}  // namespace mlxn::msl
