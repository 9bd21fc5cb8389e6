#include "metal/msl/passes/bfloat.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "metal/msl/passes/target_features.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

Type* integers_like(Type* type, unsigned bits) {
  return type->getWithNewType(IntegerType::get(type->getContext(), bits));
}

bool is_bfloat(Type* type) {
  return type->getScalarType()->isBFloatTy();
}

Value* widen(IRBuilder<>& b, Value* value, Type* to) {
  Value* bits = b.CreateBitCast(value, integers_like(value->getType(), 16));
  Value* wide = b.CreateShl(b.CreateZExt(bits, integers_like(to, 32)), 16);
  return b.CreateBitCast(wide, to);
}

Value* narrow(IRBuilder<>& b, Value* value, Type* to) {
  Type* word = integers_like(to, 32);
  auto constant = [&](uint64_t v) { return ConstantInt::get(word, v); };
  Value* bits = b.CreateBitCast(value, word);
  // Half of what is cut off, less one if the last bit kept is even.
  Value* last = b.CreateAnd(b.CreateLShr(bits, 16), constant(1));
  Value* rounded = b.CreateAdd(bits, b.CreateAdd(last, constant(0x7fff)));
  Value* quiet = b.CreateOr(bits, constant(0x400000));
  Value* chosen = b.CreateSelect(b.CreateFCmpUNO(value, value), quiet, rounded);
  Value* half = b.CreateTrunc(b.CreateLShr(chosen, 16), integers_like(to, 16));
  return b.CreateBitCast(half, to);
}

void access_as_integers(Instruction& instruction) {
  IRBuilder<> b(&instruction);
  if (auto* load = dyn_cast<LoadInst>(&instruction)) {
    LoadInst* bits = b.CreateAlignedLoad(integers_like(load->getType(), 16),
                                         load->getPointerOperand(), load->getAlign());
    bits->copyMetadata(*load);
    bits->setVolatile(load->isVolatile());
    load->replaceAllUsesWith(b.CreateBitCast(bits, load->getType()));
    load->eraseFromParent();
    return;
  }
  auto& store = cast<StoreInst>(instruction);
  Value* value = store.getValueOperand();
  store.setOperand(0, b.CreateBitCast(value, integers_like(value->getType(), 16)));
}

void lower(Instruction& instruction) {
  IRBuilder<> b(&instruction);
  if (auto* load = dyn_cast<LoadInst>(&instruction)) {
    if (is_bfloat(load->getType()) && !load->isAtomic()) access_as_integers(instruction);
  } else if (auto* store = dyn_cast<StoreInst>(&instruction)) {
    if (is_bfloat(store->getValueOperand()->getType()) && !store->isAtomic())
      access_as_integers(instruction);
  } else if (auto* cast = dyn_cast<CastInst>(&instruction)) {
    Type *from = cast->getSrcTy(), *to = cast->getDestTy();
    Value* result = nullptr;
    if (isa<FPExtInst>(cast) && is_bfloat(from) && to->getScalarType()->isFloatTy())
      result = widen(b, cast->getOperand(0), to);
    if (isa<FPTruncInst>(cast) && is_bfloat(to) && from->getScalarType()->isFloatTy())
      result = narrow(b, cast->getOperand(0), to);
    if (!result) return;
    cast->replaceAllUsesWith(result);
    cast->eraseFromParent();
  }
}

}  // namespace

void lower_bfloat(Function& function) {
  if (has_feature(function, "+avx512bf16") || has_feature(function, "+avxneconvert")) return;
  for (BasicBlock& block : function)
    for (Instruction& instruction : make_early_inc_range(block)) lower(instruction);
}

}  // namespace mlxn::msl
