#include "metal/msl/codegen/llvm_setup.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/TargetSelect.h"

namespace mlxn::msl {
namespace {

// Divisions under a mask are made for all lanes with a harmless divisor. LLVM 19's other way, a
// branch around one scalar division, is wrong where the division is the same for all lanes: it
// looks at the first lane's mask only, and the others get no value.
void avoid_branches_around_divisions() {
  auto& options = llvm::cl::getRegisteredOptions();
  auto found = options.find("force-widen-divrem-via-safe-divisor");
  if (found != options.end()) static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
}

}  // namespace

void set_up_llvm() {
  avoid_branches_around_divisions();
  llvm::CrashRecoveryContext::Enable();
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
}

}  // namespace mlxn::msl
