#include "tests/passes/jit.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

namespace mlxn::msl::testing {

using namespace llvm;

std::string host_features() {
  std::string list;
  for (const auto& feature : sys::getHostCPUFeatures())
    list +=
        (list.empty() ? "" : ",") + std::string(feature.second ? "+" : "-") + feature.first().str();
  return list;
}

Jit::Jit(const std::string& features, const Fill& fill) {
  start();
  if (!ok()) return;
  auto module = std::make_unique<Module>("test", *context_);
  IRBuilder<> builder(*context_);
  Type* pointer = builder.getPtrTy();
  auto* type =
      FunctionType::get(builder.getVoidTy(), {pointer, pointer, builder.getInt32Ty()}, false);
  Function* function = Function::Create(type, Function::ExternalLinkage, "test", *module);
  function->addFnAttr("target-features", features);
  builder.SetInsertPoint(BasicBlock::Create(*context_, "top", function));
  fill(builder, *function);
  compile(features, std::move(module));
}

Jit::Jit(const std::string& features, const std::string& ir) {
  start();
  if (!ok()) return;
  SMDiagnostic problem;
  std::unique_ptr<Module> module = parseAssemblyString(ir, problem, *context_);
  if (module)
    compile(features, std::move(module));
  else
    problem_ = problem.getMessage().str();
}

void Jit::start() {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  context_ = std::make_unique<LLVMContext>();
  auto jit = orc::LLJITBuilder().create();
  if (jit)
    jit_ = std::move(*jit);
  else
    problem_ = toString(jit.takeError());
}

void Jit::compile(const std::string& features, std::unique_ptr<Module> module) {
  module->setDataLayout(jit_->getDataLayout());
  Function* function = module->getFunction("test");
  function->addFnAttr("target-cpu", "x86-64");
  function->addFnAttr("target-features", features);
  raw_string_ostream stream(problem_);
  if (verifyModule(*module, &stream)) return;
  if (Error error = jit_->addIRModule({std::move(module), std::move(context_)})) {
    problem_ = toString(std::move(error));
    return;
  }
  auto symbol = jit_->lookup("test");
  if (symbol)
    entry_ = symbol->toPtr<void (*)(void*, void*, unsigned)>();
  else
    problem_ = toString(symbol.takeError());
}

}  // namespace mlxn::msl::testing
