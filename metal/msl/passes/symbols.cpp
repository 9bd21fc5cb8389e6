#include "metal/msl/passes/symbols.h"

#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

StringRef annotation_text(Value* value) {
  auto* global = dyn_cast<GlobalVariable>(value->stripPointerCasts());
  if (!global || !global->hasInitializer()) return {};
  auto* data = dyn_cast<ConstantDataArray>(global->getInitializer());
  return data && data->isCString() ? data->getAsCString() : StringRef();
}

bool holds_pointers(Type* type) {
  while (auto* array = dyn_cast<ArrayType>(type)) type = array->getElementType();
  return type->isPointerTy();
}

void move_to_threadgroup(AllocaInst& variable) {
  for (User* user : make_early_inc_range(variable.users()))
    if (auto* intrinsic = dyn_cast<IntrinsicInst>(user);
        intrinsic && intrinsic->isLifetimeStartOrEnd())
      intrinsic->eraseFromParent();
  Type* type = variable.getAllocatedType();
  auto* global = new GlobalVariable(
      *variable.getModule(), type, false, GlobalValue::InternalLinkage, UndefValue::get(type),
      "msl.threadgroup." + variable.getName(), nullptr, GlobalValue::NotThreadLocal, 3);
  global->setAlignment(std::max(variable.getAlign(), Align(16)));
  variable.replaceAllUsesWith(ConstantExpr::getAddrSpaceCast(global, variable.getType()));
  variable.eraseFromParent();
}

}  // namespace

void lower_annotations(Module& module) {
  std::vector<AllocaInst*> variables;
  for (Function& function : module)
    for (BasicBlock& block : function)
      for (Instruction& instruction : make_early_inc_range(block)) {
        auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction);
        if (!intrinsic) continue;
        if (intrinsic->getIntrinsicID() == Intrinsic::ptr_annotation) {
          intrinsic->replaceAllUsesWith(intrinsic->getArgOperand(0));
          intrinsic->eraseFromParent();
        } else if (intrinsic->getIntrinsicID() == Intrinsic::var_annotation) {
          auto* variable = dyn_cast<AllocaInst>(intrinsic->getArgOperand(0)->stripPointerCasts());
          if (variable &&
              annotation_text(intrinsic->getArgOperand(1)) == "msl.threadgroup_storage" &&
              !holds_pointers(variable->getAllocatedType()) && !is_contained(variables, variable))
            variables.push_back(variable);
          intrinsic->eraseFromParent();
        }
      }
  for (AllocaInst* variable : variables) move_to_threadgroup(*variable);
  for (const char* name : {"llvm.global.annotations", "llvm.used", "llvm.compiler.used"})
    if (GlobalVariable* global = module.getNamedGlobal(name)) global->eraseFromParent();
}

void drop_initialisers(Module& module) {
  GlobalVariable* list = module.getNamedGlobal("llvm.global_ctors");
  if (!list) return;
  list->eraseFromParent();
  // Whatever an initialiser writes has no value of its own.
  for (Function& function : module) {
    if (!function.getName().starts_with("__cxx_global_var_init")) continue;
    for (BasicBlock& block : function)
      for (Instruction& instruction : block)
        for (Value* operand : instruction.operands())
          if (auto* global = dyn_cast<GlobalVariable>(operand->stripInBoundsConstantOffsets());
              global && !global->isConstant() && global->hasInitializer()) {
            global->setInitializer(nullptr);
            global->setLinkage(GlobalValue::ExternalLinkage);
            global->setComdat(nullptr);
          }
  }
}

namespace {

// "undefined variable" or, better, which function constant it is.
std::string describe_undefined(const GlobalVariable& global,
                               const std::vector<FunctionConstant>& constants) {
  std::string name = demangle(global.getName().str());
  size_t scope = name.rfind("::");
  std::string plain = scope == std::string::npos ? name : name.substr(scope + 2);
  for (const FunctionConstant& constant : constants)
    if (constant.name == plain)
      return str("function constant '", constant.name, "' (index ", constant.index,
                 ") has no value");
  return str("variable '", name,
             "' has no value that is known at compile time; does it depend on a function constant "
             "that is not set?");
}

Status check_call(const CallBase& call) {
  if (call.isInlineAsm())
    return Error(ErrorCode::kCompileFailed, "inline assembly is not allowed in MSL");
  const Function* callee = call.getCalledFunction();
  if (callee && callee->isDeclaration() && callee->getName().starts_with("_Z"))
    return Error(ErrorCode::kCompileFailed,
                 str("undefined function '", demangle(callee->getName().str()), "'"));
  return {};
}

}  // namespace

Status check_symbols(const Module& module, const std::vector<FunctionConstant>& constants,
                     bool allow_unset) {
  if (!module.getModuleInlineAsm().empty())
    return Error(ErrorCode::kCompileFailed, "inline assembly is not allowed in MSL");
  for (const Function& function : module)
    for (const BasicBlock& block : function)
      for (const Instruction& instruction : block)
        if (const auto* call = dyn_cast<CallBase>(&instruction)) MLXN_TRY(check_call(*call));
  if (allow_unset) return {};
  for (const GlobalVariable& global : module.globals())
    if (global.isDeclaration() && !global.use_empty())
      return Error(ErrorCode::kCompileFailed, describe_undefined(global, constants));
  return {};
}

}  // namespace mlxn::msl
