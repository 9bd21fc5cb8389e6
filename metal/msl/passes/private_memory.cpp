#include "metal/msl/passes/private_memory.h"

#include <algorithm>
#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

namespace {

bool holds_array(const llvm::Type* type) {
  if (const auto* fields = llvm::dyn_cast<llvm::StructType>(type))
    return llvm::any_of(fields->elements(), holds_array);
  return type->isArrayTy();
}

// A variable with `margin` bytes on either side. Returns the address of what it holds. Looked at in
// the end, it is part of a coroutine's frame; a stack holds what other functions left there.
llvm::Value* with_margins(llvm::AllocaInst& variable, uint64_t size, uint64_t margin) {
  llvm::IRBuilder<> builder(&variable);
  llvm::AllocaInst* wider =
      builder.CreateAlloca(llvm::ArrayType::get(builder.getInt8Ty(), size + 2 * margin));
  wider->setAlignment(variable.getAlign());
  for (llvm::BasicBlock& block : *variable.getFunction())
    if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
      llvm::IRBuilder<>(end).CreateLoad(builder.getInt8Ty(), wider, /*isVolatile=*/true);
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), wider, margin);
}

}  // namespace

Status check_private_memory(const llvm::Function& entry, const Kernel& kernel) {
  const llvm::DataLayout& layout = entry.getParent()->getDataLayout();
  uint64_t bytes = 0;
  for (const llvm::BasicBlock& block : entry)
    for (const llvm::Instruction& instruction : block) {
      const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (!variable) continue;
      auto size = variable->getAllocationSize(layout);
      if (!size)
        return Error(ErrorCode::kCompileFailed,
                     str("kernel '", kernel.name,
                         "' has a private array whose size is not known at compile time"));
      // Saturates: a size near the end of the range would wrap.
      uint64_t more =
          llvm::alignTo(std::min<uint64_t>(*size, uint64_t{1} << 48), variable->getAlign());
      bytes = std::min<uint64_t>(bytes + more, uint64_t{1} << 60);
    }
  if (bytes > kMaxPrivateBytes)
    return Error(
        ErrorCode::kCompileFailed,
        str("kernel '", kernel.name, "' needs ", bytes,
            " bytes of private memory for each thread, more than the limit of ", kMaxPrivateBytes));
  return {};
}

void set_arrays_apart(llvm::Function& entry) {
  constexpr uint64_t kLeast = 64, kMost = 1024;
  const llvm::DataLayout& layout = entry.getParent()->getDataLayout();
  std::vector<llvm::AllocaInst*> arrays;
  for (llvm::BasicBlock& block : entry)
    for (llvm::Instruction& instruction : block)
      if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
          variable && holds_array(variable->getAllocatedType()) &&
          variable->getAllocationSize(layout))
        arrays.push_back(variable);
  for (llvm::AllocaInst* variable : arrays) {
    for (llvm::User* user : llvm::make_early_inc_range(variable->users()))
      if (auto* mark = llvm::dyn_cast<llvm::LifetimeIntrinsic>(user)) mark->eraseFromParent();
    const uint64_t size = variable->getAllocationSize(layout)->getFixedValue();
    const uint64_t margin = llvm::alignTo(std::clamp(size, kLeast, kMost), variable->getAlign());
    variable->replaceAllUsesWith(with_margins(*variable, size, margin));
    variable->eraseFromParent();
  }
}

}  // namespace mlxn::msl
