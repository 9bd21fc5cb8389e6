// Optimisation and machine code.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

Result<std::unique_ptr<llvm::TargetMachine>> make_target_machine(const Target& target);

// Scalar clean-up of an inlined module: enough to see which operations are really there.
void simplify(llvm::Module& module, llvm::TargetMachine& machine);

// The full pipeline, vectorisation and coroutine passes included.
void optimise(llvm::Module& module, llvm::TargetMachine& machine);

// Object code or PTX for Emit::kCode, text for the others.
Result<std::vector<uint8_t>> emit(llvm::Module& module, llvm::TargetMachine& machine, Emit what);

}  // namespace mlxn::msl
