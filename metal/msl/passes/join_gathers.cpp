#include "metal/msl/passes/join_gathers.h"

#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

namespace mlxn::msl {

using namespace llvm;
using namespace llvm::PatternMatch;

namespace {

constexpr unsigned kBits = 32;  // of an element; twice as many are the most that is gathered

// A gather or scatter of 32-bit elements: the addresses are `base` and a number of bytes.
struct Access {
  IntrinsicInst* call;
  Value* base;
  int64_t offset;
  Value* mask;

  bool is_gather() const { return call->getIntrinsicID() == Intrinsic::masked_gather; }
  Type* type() const { return is_gather() ? call->getType() : call->getArgOperand(0)->getType(); }
};

std::optional<Access> access_of(Instruction& instruction) {
  auto* call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call) return std::nullopt;
  bool gather = call->getIntrinsicID() == Intrinsic::masked_gather;
  if (!gather && call->getIntrinsicID() != Intrinsic::masked_scatter) return std::nullopt;
  Access access{call, call->getArgOperand(gather ? 0 : 1), 0, call->getArgOperand(gather ? 2 : 3)};
  if (access.type()->getScalarSizeInBits() != kBits) return std::nullopt;
  // Lanes that are switched off have no value.
  if (gather && !isa<UndefValue>(call->getArgOperand(3))) return std::nullopt;
  const DataLayout& layout = call->getModule()->getDataLayout();
  while (auto* step = dyn_cast<GetElementPtrInst>(access.base)) {
    APInt bytes(64, 0);
    if (!step->getPointerOperandType()->isVectorTy() ||
        !step->accumulateConstantOffset(layout, bytes))
      break;
    access.offset += bytes.getSExtValue();
    access.base = step->getPointerOperand();
  }
  return access;
}

// What the first access is to the second one: its lower half, its upper half, or neither.
std::optional<bool> is_lower(const Access& first, const Access& second) {
  if (first.call->getIntrinsicID() != second.call->getIntrinsicID() || first.base != second.base ||
      first.mask != second.mask || first.type() != second.type())
    return std::nullopt;
  int64_t distance = second.offset - first.offset;
  if (distance != kBits / 8 && distance != -int64_t{kBits / 8}) return std::nullopt;
  return distance > 0;
}

class Joiner {
 public:
  void visit(Instruction& instruction) {
    auto access = access_of(instruction);
    if (access)
      for (auto known = open_.begin(); known != open_.end(); ++known)
        if (auto lower = is_lower(*known, *access)) {
          Access other = *known;
          open_.erase(known);
          if (access->is_gather())
            gather(*lower ? other : *access, *lower ? *access : other, *other.call);
          else
            scatter(*lower ? other : *access, *lower ? *access : other, *access->call);
          return;
        }
    // A gather moves up to the one before it, so nothing may be written between; a scatter moves
    // down, so nothing may touch memory.
    bool writes = instruction.mayWriteToMemory(), reads = instruction.mayReadFromMemory();
    erase_if(open_, [&](const Access& known) { return writes || (reads && !known.is_gather()); });
    if (access) open_.push_back(*access);
  }

  void finish() {
    for (IntrinsicInst* call : dead_) call->eraseFromParent();
  }

 private:
  static Value* address(IRBuilder<>& b, const Access& lower) {
    return lower.call->getArgOperand(lower.is_gather() ? 0 : 1);
  }

  static VectorType* wide(IRBuilder<>& b, const Access& access) {
    unsigned lanes = cast<FixedVectorType>(access.type())->getNumElements();
    return FixedVectorType::get(b.getIntNTy(2 * kBits), lanes);
  }

  void gather(const Access& lower, const Access& upper, IntrinsicInst& first) {
    IRBuilder<> b(&first);
    unsigned lanes = cast<FixedVectorType>(lower.type())->getNumElements();
    // The address of the lower half may be made behind the upper one.
    Value* where = address(b, lower);
    if (&first == upper.call)
      where =
          b.CreateGEP(b.getInt8Ty(), address(b, upper), b.getInt64(uint64_t(-int64_t{kBits / 8})));
    CallInst* both = b.CreateMaskedGather(wide(b, lower), where, Align(1), lower.mask);
    both->copyMetadata(first, {LLVMContext::MD_access_group});
    auto* parts_type = FixedVectorType::get(lower.type()->getScalarType(), 2 * lanes);
    Value* parts = b.CreateBitCast(both, parts_type);
    for (unsigned half = 0; half < 2; ++half) {
      SmallVector<int, 32> mask;
      for (unsigned i = 0; i < lanes; ++i) mask.push_back(int(2 * i + half));
      IntrinsicInst* call = half ? upper.call : lower.call;
      call->replaceAllUsesWith(b.CreateShuffleVector(parts, mask));
      dead_.push_back(call);
    }
  }

  void scatter(const Access& lower, const Access& upper, IntrinsicInst& second) {
    IRBuilder<> b(&second);
    unsigned lanes = cast<FixedVectorType>(lower.type())->getNumElements();
    SmallVector<int, 32> mask;
    for (unsigned i = 0; i < 2 * lanes; ++i) mask.push_back(int(i / 2 + i % 2 * lanes));
    Value* parts =
        b.CreateShuffleVector(lower.call->getArgOperand(0), upper.call->getArgOperand(0), mask);
    CallInst* both = b.CreateMaskedScatter(b.CreateBitCast(parts, wide(b, lower)),
                                           address(b, lower), Align(1), lower.mask);
    both->copyMetadata(second, {LLVMContext::MD_access_group});
    dead_.push_back(lower.call);
    dead_.push_back(upper.call);
  }

  std::vector<Access> open_;  // that another one may join
  std::vector<IntrinsicInst*> dead_;
};

}  // namespace

void join_gathers(Function& function) {
  for (BasicBlock& block : function) {
    Joiner joiner;
    for (Instruction& instruction : block) joiner.visit(instruction);
    joiner.finish();
  }
}

}  // namespace mlxn::msl
