#include "tests/passes/jit.h"

#include "llvm/IR/Verifier.h"
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
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  compile(features, fill);
}

void Jit::compile(const std::string& features, const Fill& fill) {
  auto jit = orc::LLJITBuilder().create();
  if (!jit) {
    problem_ = toString(jit.takeError());
    return;
  }
  jit_ = std::move(*jit);
  auto context = std::make_unique<LLVMContext>();
  auto module = std::make_unique<Module>("test", *context);
  module->setDataLayout(jit_->getDataLayout());
  IRBuilder<> builder(*context);
  Type* pointer = builder.getPtrTy();
  auto* type =
      FunctionType::get(builder.getVoidTy(), {pointer, pointer, builder.getInt32Ty()}, false);
  Function* function = Function::Create(type, Function::ExternalLinkage, "test", *module);
  function->addFnAttr("target-cpu", "x86-64");
  function->addFnAttr("target-features", features);
  builder.SetInsertPoint(BasicBlock::Create(*context, "top", function));
  fill(builder, *function);
  raw_string_ostream stream(problem_);
  if (verifyModule(*module, &stream)) return;
  if (Error error = jit_->addIRModule({std::move(module), std::move(context)})) {
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
