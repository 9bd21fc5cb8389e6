#include "metal/msl/passes/cross_lane.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"

namespace mlxn::msl {

using namespace llvm;

bool is_cross_lane(const Function& function) {
  StringRef name = function.getName();
  if (!name.starts_with("__msl_simd_") && !name.starts_with("__msl_simdgroup_barrier") &&
      !name.starts_with("__msl_threadgroup_barrier"))
    return false;
  return function.isDeclaration();
}

bool has_cross_lane_call(const Function& entry) {
  for (const BasicBlock& block : entry)
    for (const Instruction& instruction : block)
      if (const auto* call = dyn_cast<CallInst>(&instruction))
        if (const Function* callee = call->getCalledFunction(); callee && is_cross_lane(*callee))
          return true;
  return false;
}

void number_sites(Module& module) {
  for (Function& function : module) {
    unsigned site = 0;
    for (BasicBlock& block : function)
      for (Instruction& instruction : block)
        if (auto* call = dyn_cast<CallInst>(&instruction))
          if (Function* callee = call->getCalledFunction(); callee && is_cross_lane(*callee))
            call->setArgOperand(call->arg_size() - 1,
                                ConstantInt::get(Type::getInt32Ty(module.getContext()), site++));
  }
}

}  // namespace mlxn::msl
