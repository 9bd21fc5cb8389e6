// Inlining: in the end each kernel is one function, but for long arithmetic that is called.
#include "metal/msl/passes/inline_all.h"

#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/Inliner.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Scalar/TailRecursionElimination.h"
#include "metal/msl/passes/packed_dot.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// Lets every function but the entries be inlined and dropped.
void make_inlinable(Module& module, const std::vector<Function*>& entries) {
  for (Function& function : module) {
    if (function.isDeclaration()) continue;
    function.removeFnAttr(Attribute::NoInline);
    function.removeFnAttr(Attribute::OptimizeNone);
    function.removeFnAttr(Attribute::MustProgress);
    if (is_contained(entries, &function)) continue;
    function.setLinkage(GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
    function.addFnAttr(Attribute::AlwaysInline);
  }
  for (GlobalVariable& global : module.globals())
    if (!global.isDeclaration() && !global.hasAppendingLinkage()) {
      global.setLinkage(GlobalValue::InternalLinkage);
      global.setComdat(nullptr);
    }
}

void run_passes(Module& module, ModulePassManager passes) {
  PassBuilder builder;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.registerCGSCCAnalyses(components);
  builder.crossRegisterProxies(loops, functions, components, modules);
  passes.run(module, modules);
}

// Marks a function that is called, not copied into its callers.
constexpr const char* kCalled = "msl-called";

bool is_called(const CallBase& call) {
  const Function* callee = call.getCalledFunction();
  return callee && callee->hasFnAttribute(kCalled);
}

// Code that may be simplified before cross-lane calls have their numbers: code without such calls.
// Two of them must not become one, nor one two.
bool is_plain_code(const Function& function) {
  for (const BasicBlock& block : function)
    for (const Instruction& instruction : block) {
      const auto* call = dyn_cast<CallBase>(&instruction);
      bool plain = !call || isa<IntrinsicInst>(call) || is_called(*call) || packed_dot(*call);
      if (!plain || (call && call->isConvergent())) return false;
    }
  return true;
}

// True for plain code that only computes numbers from numbers, and is too long to copy. All passes
// take a call that touches no memory for arithmetic.
bool is_worth_calling(const Function& function) {
  constexpr unsigned kLongest = 1000;
  auto is_number = [](const Type* type) { return type->isFloatTy() || type->isIntegerTy(); };
  if (function.getInstructionCount() <= kLongest || !is_number(function.getReturnType()))
    return false;
  for (const Argument& argument : function.args())
    if (!is_number(argument.getType())) return false;
  for (const BasicBlock& block : function)
    for (const Instruction& instruction : block)
      if (instruction.mayReadOrWriteMemory() || isa<AllocaInst>(instruction)) return false;
  return true;
}

void keep_call(Function& function) {
  function.removeFnAttr(Attribute::AlwaysInline);
  function.addFnAttr(Attribute::NoInline);
  function.addFnAttr(kCalled);
  function.setDoesNotAccessMemory();
  function.setDoesNotThrow();
}

// Makes functions small before they are copied into their callers.
class SimplifyPlainCode : public PassInfoMixin<SimplifyPlainCode> {
 public:
  SimplifyPlainCode() {
    passes_.addPass(SROAPass(SROAOptions::ModifyCFG));
    passes_.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
    passes_.addPass(InstSimplifyPass());
    passes_.addPass(SimplifyCFGPass());
  }
  PreservedAnalyses run(Function& function, FunctionAnalysisManager& analyses) {
    if (!is_plain_code(function)) return PreservedAnalyses::all();
    PreservedAnalyses preserved = passes_.run(function, analyses);
    if (function.hasFnAttribute(Attribute::AlwaysInline) && is_worth_calling(function))
      keep_call(function);
    return preserved;
  }

 private:
  FunctionPassManager passes_;
};

// Inlines callees into callers, from the bottom up.
ModulePassManager inline_bottom_up() {
  CGSCCPassManager components;
  components.addPass(InlinerPass(/*OnlyMandatory=*/true));
  components.addPass(createCGSCCToFunctionPassAdaptor(SimplifyPlainCode()));
  ModulePassManager passes;
  passes.addPass(createModuleToPostOrderCGSCCPassAdaptor(std::move(components)));
  return passes;
}

// Makes calls through local function pointers direct, and tail calls of a function to itself loops.
FunctionPassManager resolve_calls() {
  FunctionPassManager passes;
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  passes.addPass(TailCallElimPass());
  return passes;
}

// A call that inlining has left over, as an error; inline assembly is check_symbols' business.
Status check_calls(const std::vector<Function*>& entries) {
  for (const Function* entry : entries)
    for (const BasicBlock& block : *entry)
      for (const Instruction& instruction : block) {
        const auto* call = dyn_cast<CallBase>(&instruction);
        if (!call || call->isInlineAsm() || is_called(*call)) continue;
        const Function* callee = call->getCalledFunction();
        if (!callee)
          return Error(ErrorCode::kCompileFailed,
                       "calls through function pointers that differ at run time are not supported");
        if (!callee->isDeclaration())
          return Error(ErrorCode::kCompileFailed, str("recursive functions are not allowed: ",
                                                      demangle(callee->getName().str())));
      }
  return {};
}

}  // namespace

Status inline_all(Module& module, const std::vector<Kernel>& kernels) {
  std::vector<Function*> entries;
  for (const Kernel& kernel : kernels)
    if (Function* entry = module.getFunction(kernel.symbol)) entries.push_back(entry);
  make_inlinable(module, entries);
  run_passes(module, inline_bottom_up());
  // Inlining may reveal what a pointer points to, and that more to inline.
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds && !check_calls(entries); ++round) {
    ModulePassManager again;
    again.addPass(createModuleToFunctionPassAdaptor(resolve_calls()));
    again.addPass(AlwaysInlinerPass(/*InsertLifetime=*/true));
    run_passes(module, std::move(again));
  }
  ModulePassManager last;
  last.addPass(GlobalDCEPass());
  run_passes(module, std::move(last));
  return check_calls(entries);
}

}  // namespace mlxn::msl
