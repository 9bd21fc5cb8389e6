// Machine code for a module made in a test.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace mlxn::msl::testing {

// The features of this machine, as a "target-features" attribute wants them.
std::string host_features();

// A module with one function `void test(ptr, ptr, i32)` that `fill` gives a body, compiled.
class Jit {
 public:
  using Fill = std::function<void(llvm::IRBuilder<>&, llvm::Function&)>;
  Jit(const std::string& features, const Fill& fill);
  // The same from text.
  Jit(const std::string& features, const std::string& ir);

  bool ok() const { return problem_.empty(); }
  const std::string& problem() const { return problem_; }
  void run(void* in, void* out, unsigned word) const { entry_(in, out, word); }

 private:
  void start();
  void compile(const std::string& features, std::unique_ptr<llvm::Module> module);

  std::unique_ptr<llvm::LLVMContext> context_;

  std::unique_ptr<llvm::orc::LLJIT> jit_;
  void (*entry_)(void*, void*, unsigned) = nullptr;
  std::string problem_;
};

}  // namespace mlxn::msl::testing
