#include "metal/msl/passes/half_conversion.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "metal/msl/passes/target_features.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

constexpr StringRef kToFloat = "__msl_half_to_float", kToHalf = "__msl_float_to_half";
constexpr unsigned kVectors[] = {4, 8, 16, 32};

bool is_conversion(const Instruction& instruction) {
  auto* cast = dyn_cast<CastInst>(&instruction);
  if (!cast) return false;
  Type *from = cast->getSrcTy(), *to = cast->getDestTy();
  return cast->getOpcode() == Instruction::FPExt
             ? from->isHalfTy() && to->isFloatTy()
             : cast->getOpcode() == Instruction::FPTrunc && from->isFloatTy() && to->isHalfTy();
}

Function* declare(Module& module, const Twine& name, Type* to, Type* from) {
  Function* made = Function::Create(FunctionType::get(to, {from}, false),
                                    GlobalValue::ExternalLinkage, name, module);
  made->setDoesNotAccessMemory();
  made->setDoesNotThrow();
  made->setWillReturn();
  made->setSpeculatable();
  return made;
}

// The function that stands for conversions like this one, with its forms for vectors.
Function* stand_in(Module& module, const CastInst& cast) {
  StringRef name = cast.getOpcode() == Instruction::FPExt ? kToFloat : kToHalf;
  if (Function* known = module.getFunction(name)) return known;
  for (unsigned count : kVectors) {
    Function* vector =
        declare(module, name + "." + Twine(count), FixedVectorType::get(cast.getDestTy(), count),
                FixedVectorType::get(cast.getSrcTy(), count));
    appendToCompilerUsed(module, {vector});
  }
  return declare(module, name, cast.getDestTy(), cast.getSrcTy());
}

std::string variants_of(StringRef name) {
  std::string all;
  for (unsigned count : kVectors)
    all += str(all.empty() ? "" : ",", "_ZGV_LLVM_N", count, "v_", name.str(), "(", name.str(), ".",
               count, ")");
  return all;
}

}  // namespace

void hide_half_conversions(Function& function) {
  if (!has_feature(function, "+f16c") && !has_feature(function, "+avx512f")) return;
  for (Instruction& instruction : make_early_inc_range(instructions(function))) {
    if (!is_conversion(instruction)) continue;
    auto& cast = llvm::cast<CastInst>(instruction);
    Function* callee = stand_in(*function.getParent(), cast);
    CallInst* call = IRBuilder<>(&cast).CreateCall(callee, {cast.getOperand(0)});
    call->addFnAttr(Attribute::get(function.getContext(), "vector-function-abi-variant",
                                   variants_of(callee->getName())));
    cast.replaceAllUsesWith(call);
    cast.eraseFromParent();
  }
}

void show_half_conversions(Module& module) {
  auto is_ours = [](const Constant* constant) {
    auto* function = dyn_cast<Function>(constant);
    return function &&
           (function->getName().starts_with(kToFloat) || function->getName().starts_with(kToHalf));
  };
  removeFromUsedLists(module, is_ours);
  for (Function& function : make_early_inc_range(module)) {
    if (!is_ours(&function)) continue;
    function.removeDeadConstantUsers();  // the lists
    for (User* user : make_early_inc_range(function.users())) {
      auto* call = cast<CallInst>(user);
      IRBuilder<> builder(call);
      call->replaceAllUsesWith(builder.CreateFPCast(call->getArgOperand(0), call->getType()));
      call->eraseFromParent();
    }
    function.eraseFromParent();
  }
}

}  // namespace mlxn::msl
