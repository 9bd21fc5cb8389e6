#include "metal/msl/passes/test_gathers.h"

#include <numeric>
#include <vector>

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "metal/msl/passes/target_features.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

constexpr unsigned kLanes = 8;  // that fit into a register
constexpr unsigned kBytes = 8;  // of an element

bool is_gather(const IntrinsicInst& call) {
  return call.getIntrinsicID() == Intrinsic::masked_gather;
}

// The type of what is moved, if it is of the kind that is tested.
FixedVectorType* moved_type(const Instruction& instruction) {
  const auto* call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call || (!is_gather(*call) && call->getIntrinsicID() != Intrinsic::masked_scatter))
    return nullptr;
  Type* type = is_gather(*call) ? call->getType() : call->getArgOperand(0)->getType();
  auto* vector = dyn_cast<FixedVectorType>(type);
  bool fits = vector && vector->getElementType()->isIntegerTy(64) &&
              vector->getNumElements() % kLanes == 0 &&
              (!is_gather(*call) || isa<UndefValue>(call->getArgOperand(3)));
  return fits ? vector : nullptr;
}

// Numbers of which each is greater by `step` than the one before if the addresses follow one
// another: an index where there is one, else the addresses. Lanes that are switched off may have no
// value at all; frozen, theirs are some numbers.
struct Places {
  Value* numbers;
  uint64_t step;
  unsigned zeros;                   // so many of the lowest bits of each number are zero
  GetElementPtrInst* of = nullptr;  // what has the index
  Value* pointers = nullptr;        // the addresses, frozen, where there is no index

  Value* address(IRBuilder<>& b, unsigned lane) const {
    if (!of) return b.CreateExtractElement(pointers, uint64_t(lane));
    return b.CreateGEP(of->getSourceElementType(), of->getPointerOperand(),
                       b.CreateExtractElement(numbers, uint64_t(lane)));
  }
};

Places places_of(IRBuilder<>& b, Value* addresses) {
  const DataLayout& layout = b.GetInsertBlock()->getModule()->getDataLayout();
  auto zeros = [&](Value* numbers) {
    return computeKnownBits(numbers, layout).countMinTrailingZeros();
  };
  auto* step = dyn_cast<GetElementPtrInst>(addresses);
  if (step && step->getNumIndices() == 1 && !step->getPointerOperandType()->isVectorTy() &&
      step->getOperand(1)->getType()->isVectorTy() &&
      step->getOperand(1)->getType()->getScalarType()->isIntegerTy(64)) {
    uint64_t size = layout.getTypeAllocSize(step->getSourceElementType());
    Value* index = step->getOperand(1);
    if (size <= kBytes && kBytes % size == 0)
      return {b.CreateFreeze(index), kBytes / size, zeros(index), step};
  }
  auto* type = FixedVectorType::get(b.getInt64Ty(),
                                    cast<FixedVectorType>(addresses->getType())->getNumElements());
  Value* frozen = b.CreateFreeze(addresses);
  Value* numbers = b.CreatePtrToInt(frozen, type);
  return {numbers, kBytes, zeros(b.CreatePtrToInt(addresses, type)), nullptr, frozen};
}

Value* part(IRBuilder<>& b, Value* vector, unsigned first) {
  if (cast<FixedVectorType>(vector->getType())->getNumElements() == kLanes) return vector;
  SmallVector<int, kLanes> mask(kLanes);
  std::iota(mask.begin(), mask.end(), int(first));
  return b.CreateShuffleVector(vector, mask);
}

// Whether each number is greater by `step` than the one before.
Value* are_in_a_row(IRBuilder<>& b, Value* places, uint64_t step) {
  Type* type = places->getType()->getScalarType();
  SmallVector<Constant*, kLanes> steps;
  for (unsigned i = 0; i < kLanes; ++i) steps.push_back(ConstantInt::get(type, i * step));
  Value* first = b.CreateVectorSplat(kLanes, b.CreateExtractElement(places, uint64_t(0)));
  Value* equal = b.CreateICmpEQ(b.CreateSub(places, first), ConstantVector::get(steps));
  return b.CreateICmpEQ(b.CreateBitCast(equal, b.getIntNTy(kLanes)),
                        ConstantInt::getAllOnesValue(b.getIntNTy(kLanes)));
}

// One register's share of a gather or scatter.
struct Share {
  Value *addresses, *start, *mask, *data;  // no data: it is loaded

  FixedVectorType* type(IRBuilder<>& b) const {
    return FixedVectorType::get(b.getInt64Ty(), kLanes);
  }
};

Value* move_apart(IRBuilder<>& b, const Share& share) {
  if (!share.data)
    return b.CreateMaskedGather(share.type(b), share.addresses, Align(1), share.mask);
  b.CreateMaskedScatter(share.data, share.addresses, Align(1), share.mask);
  return nullptr;
}

Value* move_row(IRBuilder<>& b, const Share& share) {
  if (!share.data)
    return b.CreateMaskedLoad(share.type(b), share.start, Align(1), share.mask,
                              PoisonValue::get(share.type(b)));
  b.CreateMaskedStore(share.data, share.start, Align(1), share.mask);
  return nullptr;
}

// Every other element of two registers; what lies between is not touched.
Value* move_every_other(IRBuilder<>& b, const Share& share) {
  Value* loaded[2];
  for (unsigned half = 0; half < 2; ++half) {
    SmallVector<int, kLanes> spread;
    for (unsigned i = 0; i < kLanes; ++i)
      spread.push_back(int(i % 2 ? kLanes : half * kLanes / 2 + i / 2));
    Value* mask =
        b.CreateShuffleVector(share.mask, Constant::getNullValue(share.mask->getType()), spread);
    Value* start = b.CreateGEP(b.getInt8Ty(), share.start, b.getInt64(half * kLanes * kBytes));
    if (share.data)
      b.CreateMaskedStore(
          b.CreateShuffleVector(share.data, PoisonValue::get(share.type(b)), spread), start,
          Align(1), mask);
    else
      loaded[half] =
          b.CreateMaskedLoad(share.type(b), start, Align(1), mask, PoisonValue::get(share.type(b)));
  }
  if (share.data) return nullptr;
  SmallVector<int, kLanes> even;
  for (unsigned i = 0; i < kLanes; ++i) even.push_back(int(2 * i));
  return b.CreateShuffleVector(loaded[0], loaded[1], even);
}

// Moves a share in front of the call, in the best way its addresses allow. Returns what is loaded.
Value* move(IntrinsicInst& call, const Share& share, Value* places, uint64_t step) {
  IRBuilder<> b(&call);
  Instruction *row = nullptr, *other = nullptr, *every_other = nullptr, *apart = nullptr;
  SplitBlockAndInsertIfThenElse(are_in_a_row(b, places, step), &call, &row, &other);
  IRBuilder<> then(other);
  SplitBlockAndInsertIfThenElse(are_in_a_row(then, places, 2 * step), other, &every_other, &apart);
  IRBuilder<> first(row), second(every_other), third(apart);
  Value* values[] = {move_row(first, share), move_every_other(second, share),
                     move_apart(third, share)};
  if (share.data) return nullptr;
  auto join = [&](BasicBlock& block, Value* x, BasicBlock* from_x, Value* y, BasicBlock* from_y) {
    IRBuilder<> top(&block, block.begin());
    PHINode* result = top.CreatePHI(x->getType(), 2);
    result->addIncoming(x, from_x);
    result->addIncoming(y, from_y);
    return result;
  };
  BasicBlock* inner = other->getParent();
  Value* rest = join(*inner, values[1], every_other->getParent(), values[2], apart->getParent());
  return join(*call.getParent(), values[0], row->getParent(), rest, inner);
}

void test(IntrinsicInst& call, unsigned lanes) {
  IRBuilder<> b(&call);
  Places places = places_of(b, call.getArgOperand(is_gather(call) ? 0 : 1));
  // Multiples of more than that are neither in a row nor every other element of one.
  if ((uint64_t{1} << std::min(places.zeros, 62u)) > 2 * places.step) return;
  bool gather = is_gather(call);
  SmallVector<Value*, 4> parts;
  for (unsigned first = 0; first < lanes; first += kLanes) {
    b.SetInsertPoint(&call);
    Share share = {part(b, call.getArgOperand(gather ? 0 : 1), first), places.address(b, first),
                   part(b, call.getArgOperand(gather ? 2 : 3), first),
                   gather ? nullptr : part(b, call.getArgOperand(0), first)};
    parts.push_back(move(call, share, part(b, places.numbers, first), places.step));
  }
  if (is_gather(call)) {
    b.SetInsertPoint(&call);
    call.replaceAllUsesWith(concatenateVectors(b, parts));
  }
  call.eraseFromParent();
}

}  // namespace

void test_gathers(Function& function) {
  if (!has_feature(function, "+avx512f")) return;
  std::vector<IntrinsicInst*> calls;
  for (BasicBlock& block : function)
    for (Instruction& instruction : block)
      if (moved_type(instruction)) calls.push_back(cast<IntrinsicInst>(&instruction));
  for (IntrinsicInst* call : calls) test(*call, moved_type(*call)->getNumElements());
}

}  // namespace mlxn::msl
