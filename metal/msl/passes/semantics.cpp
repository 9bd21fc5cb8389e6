#include "metal/msl/passes/semantics.h"

#include <cmath>

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// Shift amounts are taken modulo the width.
void mask_shift(BinaryOperator& shift) {
  Value* amount = shift.getOperand(1);
  if (isa<Constant>(amount) && !isa<UndefValue>(amount)) {
    auto* constant = dyn_cast<ConstantInt>(amount);
    if (constant && constant->getValue().ult(constant->getBitWidth())) return;
  }
  IRBuilder<> builder(&shift);
  unsigned width = shift.getType()->getScalarSizeInBits();
  shift.setOperand(1, builder.CreateAnd(amount, ConstantInt::get(amount->getType(), width - 1)));
}

// x / 0 is x, and INT_MIN / -1 is INT_MIN; x % 0 and INT_MIN % -1 are 0. Nothing traps.
//
// Once vectorised, a divisor such as 4 - lane is a constant with a zero in it, and LLVM 19 takes a
// choice between two vectors of divisors for the other one if one of them has a zero anywhere, also
// in a lane that is not chosen. Without a sign the choice itself becomes a constant. With one it
// depends on the dividend, so the zero goes by an umax.
void guard_division(BinaryOperator& division) {
  Value* divisor = division.getOperand(1);
  if (auto* constant = dyn_cast<ConstantInt>(divisor);
      constant && !constant->isZero() && !constant->isMinusOne())
    return;
  IRBuilder<> builder(&division);
  Type* type = division.getType();
  Constant* one = ConstantInt::get(type, 1);
  bool is_signed =
      division.getOpcode() == Instruction::SDiv || division.getOpcode() == Instruction::SRem;
  if (!is_signed) {
    Value* zero = builder.CreateICmpEQ(divisor, Constant::getNullValue(type));
    division.setOperand(1, builder.CreateSelect(zero, one, divisor));
    return;
  }
  APInt lowest = APInt::getSignedMinValue(type->getScalarSizeInBits());
  Value* overflow = builder.CreateAnd(
      builder.CreateICmpEQ(division.getOperand(0), ConstantInt::get(type, lowest)),
      builder.CreateICmpEQ(divisor, Constant::getAllOnesValue(type)));
  Value* safe = builder.CreateBinaryIntrinsic(Intrinsic::umax, divisor, one);
  division.setOperand(1, builder.CreateSelect(overflow, one, safe));
}

// Converts by way of float, which machines do in vectors.
Value* float_of(IRBuilder<>& builder, Value* number) {
  if (number->getType()->getScalarSizeInBits() >= 32) return number;
  return builder.CreateFPExt(number, number->getType()->getWithNewType(builder.getFloatTy()));
}

// LLVM 19 takes the saturating intrinsic apart for x86 when it is one of vectors; this stays one.
// `number` is clamped to what both types hold. The highest 32-bit number is none of these, so what
// lies above is chosen afterwards, as 0 is for NaN.
Value* clamp_and_convert(IRBuilder<>& builder, Value* number, Type* to, bool is_signed) {
  unsigned bits = to->getScalarSizeInBits(), mantissa = 24;
  unsigned magnitude = is_signed ? bits - 1 : bits;
  Type* floats = number->getType();
  Constant* low = ConstantFP::get(floats, is_signed ? -std::ldexp(1.0, int(magnitude)) : 0.0);
  Constant* above = ConstantFP::get(floats, std::ldexp(1.0, int(magnitude)));
  double step = magnitude > mantissa ? std::ldexp(1.0, int(magnitude - mantissa)) : 1;
  Constant* high = ConstantFP::get(floats, std::ldexp(1.0, int(magnitude)) - step);
  Value* some = builder.CreateSelect(builder.CreateFCmpOGT(number, low), number, low);
  some = builder.CreateSelect(builder.CreateFCmpOLT(some, high), some, high);
  Type* words = to->getWithNewBitWidth(32);
  Value* result = is_signed ? builder.CreateFPToSI(some, words) : builder.CreateFPToUI(some, words);
  result = builder.CreateTrunc(result, to);
  if (magnitude > mantissa) {
    APInt most = is_signed ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits);
    result = builder.CreateSelect(builder.CreateFCmpOGE(number, above), ConstantInt::get(to, most),
                                  result);
  }
  if (!is_signed) return result;  // NaN has become the low end, which is 0
  return builder.CreateSelect(builder.CreateFCmpUNO(number, number), Constant::getNullValue(to),
                              result);
}

// `conversion` is a cast or the saturating intrinsic.
void saturate_conversion(Instruction& conversion, Intrinsic::ID id, bool for_processor) {
  IRBuilder<> builder(&conversion);
  Value* number = float_of(builder, conversion.getOperand(0));
  Type* to = conversion.getType();
  bool in_words =
      number->getType()->getScalarType()->isFloatTy() && to->getScalarSizeInBits() <= 32;
  Value* result = for_processor && in_words
                      ? clamp_and_convert(builder, number, to, id == Intrinsic::fptosi_sat)
                      : builder.CreateIntrinsic(id, {to, number->getType()}, {number});
  conversion.replaceAllUsesWith(result);
  conversion.eraseFromParent();
}

// a * b + c in 16 bits, where it may be contracted, is rounded once, as by a GPU's instruction.
// Processors have none and would round the product too; by way of float, which holds that product
// exactly, they need not.
void round_once(Instruction& sum, Value* a, Value* b, Value* c) {
  IRBuilder<> builder(&sum);
  Value* wide[] = {float_of(builder, a), float_of(builder, b), float_of(builder, c)};
  Value* result = builder.CreateIntrinsic(Intrinsic::fmuladd, {wide[0]->getType()}, wide);
  sum.replaceAllUsesWith(builder.CreateFPTrunc(result, sum.getType()));
  sum.eraseFromParent();
}

bool is_narrow(const Instruction& number) {
  return number.getType()->isFPOrFPVectorTy() && number.getType()->getScalarSizeInBits() == 16;
}

// A sum or difference of which one side is a product.
void contract_narrow(BinaryOperator& sum) {
  if (!is_narrow(sum) || !sum.hasAllowContract()) return;
  for (unsigned side : {0, 1}) {
    auto* product = dyn_cast<BinaryOperator>(sum.getOperand(side));
    if (!product || product->getOpcode() != Instruction::FMul || !product->hasAllowContract() ||
        !product->hasOneUse())
      continue;
    IRBuilder<> builder(&sum);
    Value *a = product->getOperand(0), *c = sum.getOperand(1 - side);
    if (sum.getOpcode() == Instruction::FSub)
      (side == 0 ? c : a) = builder.CreateFNeg(side == 0 ? c : a);
    round_once(sum, a, product->getOperand(1), c);
    product->eraseFromParent();
    return;
  }
}

// Buffers may be bound at any offset the element type allows, so wider alignment is not promised.
Align element_alignment(Type* type, Align given) {
  while (true) {
    if (auto* structure = dyn_cast<StructType>(type); structure && structure->getNumElements() > 0)
      type = structure->getElementType(0);
    else if (auto* array = dyn_cast<ArrayType>(type))
      type = array->getElementType();
    else if (auto* vector = dyn_cast<VectorType>(type))
      type = vector->getElementType();
    else
      break;
  }
  if (type->isPointerTy()) return given;
  uint64_t bytes = std::max<uint64_t>(1, type->getScalarSizeInBits() / 8);
  return std::min(given, Align(PowerOf2Ceil(bytes)));
}

void relax(Instruction& instruction) {
  if (auto* load = dyn_cast<LoadInst>(&instruction); load && !load->isAtomic())
    load->setAlignment(element_alignment(load->getType(), load->getAlign()));
  if (auto* store = dyn_cast<StoreInst>(&instruction); store && !store->isAtomic())
    store->setAlignment(element_alignment(store->getValueOperand()->getType(), store->getAlign()));
  if (auto* copy = dyn_cast<MemTransferInst>(&instruction)) {
    copy->setDestAlignment(std::min(copy->getDestAlign().valueOrOne(), Align(1)));
    copy->setSourceAlignment(std::min(copy->getSourceAlign().valueOrOne(), Align(1)));
  }
}

// Marks accesses that the source makes as a bool.
constexpr const char* kBool = "msl.bool";

bool accesses_bool(const Instruction& access) {
  const MDNode* tag = access.getMetadata(LLVMContext::MD_tbaa);
  if (!tag || tag->getNumOperands() < 2) return false;
  const auto* type = dyn_cast<MDNode>(tag->getOperand(1));  // of the access, also in a struct
  const auto* name = type ? dyn_cast<MDString>(type->getOperand(0)) : nullptr;
  return name && name->getString() == "bool";
}

// Memory may be read as another type than it was written: kernels do so, and Metal lets them. What
// the types of accesses tell is kept for bools alone.
void allow_aliasing(Instruction& instruction) {
  if (accesses_bool(instruction))
    instruction.setMetadata(kBool, MDNode::get(instruction.getContext(), {}));
  instruction.setMetadata(LLVMContext::MD_tbaa, nullptr);
  instruction.setMetadata(LLVMContext::MD_tbaa_struct, nullptr);
}

// Stores the byte that was loaded where it stores whether that is zero.
void keep_copied_byte(StoreInst& store) {
  auto* widened = dyn_cast<ZExtInst>(store.getValueOperand());
  auto* truth = widened ? dyn_cast<ICmpInst>(widened->getOperand(0)) : nullptr;
  if (!truth || truth->getPredicate() != ICmpInst::ICMP_NE) return;
  auto* load = dyn_cast<LoadInst>(truth->getOperand(0));
  auto* zero = dyn_cast<ConstantInt>(truth->getOperand(1));
  if (load && load->getType() == widened->getType() && load->hasMetadata(kBool) && zero &&
      zero->isZero())
    store.setOperand(0, load);
}

// A bool in memory is true if its byte is not zero; Clang relies on zero and one.
void normalise_bool(TruncInst& truncation) {
  if (!truncation.getType()->isIntegerTy(1)) return;
  if (auto* load = dyn_cast<LoadInst>(truncation.getOperand(0)))
    load->setMetadata(LLVMContext::MD_range, nullptr);
  IRBuilder<> builder(&truncation);
  truncation.replaceAllUsesWith(builder.CreateIsNotNull(truncation.getOperand(0)));
  truncation.eraseFromParent();
}

}  // namespace

void define_semantics(Module& module, bool for_processor) {
  for (Function& function : module)
    for (BasicBlock& block : function)
      for (Instruction& instruction : make_early_inc_range(block)) {
        allow_aliasing(instruction);
        switch (instruction.getOpcode()) {
          case Instruction::Shl:
          case Instruction::LShr:
          case Instruction::AShr: mask_shift(cast<BinaryOperator>(instruction)); break;
          case Instruction::SDiv:
          case Instruction::UDiv:
          case Instruction::SRem:
          case Instruction::URem: guard_division(cast<BinaryOperator>(instruction)); break;
          case Instruction::FAdd:
          case Instruction::FSub:
            if (for_processor) contract_narrow(cast<BinaryOperator>(instruction));
            break;
          case Instruction::FPToSI:
            saturate_conversion(instruction, Intrinsic::fptosi_sat, for_processor);
            break;
          case Instruction::FPToUI:
            saturate_conversion(instruction, Intrinsic::fptoui_sat, for_processor);
            break;
          case Instruction::Trunc: normalise_bool(cast<TruncInst>(instruction)); break;
          default:
            if (for_processor) relax(instruction);
            auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction);
            if (!intrinsic) break;
            Intrinsic::ID id = intrinsic->getIntrinsicID();
            if (id == Intrinsic::fptosi_sat || id == Intrinsic::fptoui_sat)
              saturate_conversion(*intrinsic, id, for_processor);
            else if (id == Intrinsic::fmuladd && for_processor && is_narrow(*intrinsic))
              round_once(*intrinsic, intrinsic->getArgOperand(0), intrinsic->getArgOperand(1),
                         intrinsic->getArgOperand(2));
        }
      }
}

void keep_copied_bytes(Module& module) {
  for (Function& function : module)
    for (BasicBlock& block : function)
      for (Instruction& instruction : block)
        if (auto* store = dyn_cast<StoreInst>(&instruction); store && store->hasMetadata(kBool))
          keep_copied_byte(*store);
}

}  // namespace mlxn::msl
