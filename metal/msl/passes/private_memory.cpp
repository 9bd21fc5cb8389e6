#include "metal/msl/passes/private_memory.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

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

}  // namespace mlxn::msl
