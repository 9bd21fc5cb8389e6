// CPU lowering: from entry functions for one thread to code the executor calls (see kernel_abi.h).
#pragma once

#include <string>
#include <vector>

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "metal/msl/interface.h"
#include "metal/msl/passes/explain.h"

namespace mlxn::msl {

// Chooses each kernel's tier and builds its code: adds the function kernel.symbol in place of the
// entry function of that name. Says how and why in `explanations`, one for each kernel, unless that
// is null.
void lower_to_cpu(llvm::Module& module, std::vector<Kernel>& kernels, const CompileRequest& request,
                  llvm::TargetMachine& machine, std::vector<Explanation>* explanations);

}  // namespace mlxn::msl
