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

// Sends LLVM's messages to nobody but, as text, its errors to `errors`, which must outlive all
// passes. Hints it could not follow, such as a loop it did not unroll, are no concern of the user.
void collect_messages(llvm::LLVMContext& context, std::string& errors);

// Lets kernels use 512-bit vectors where the processor has them; LLVM's default for x86-64-v4 is to
// stay with 256 bits, which the operations on whole simdgroups cannot.
void use_wide_vectors(llvm::Module& module);

// Scalar clean-up of an inlined module: enough to see which operations are really there.
void simplify(llvm::Module& module, llvm::TargetMachine& machine);

// Leaves an entry function with scalar instructions and two-way branches only, as loops over lanes
// can be vectorised from.
void scalarise(llvm::Function& entry, llvm::TargetMachine& machine);

// The full pipeline, vectorisation and coroutine passes included.
void optimise(llvm::Module& module, llvm::TargetMachine& machine);

// Object code or PTX for Emit::kCode, text for the others.
Result<std::vector<uint8_t>> emit(llvm::Module& module, llvm::TargetMachine& machine, Emit what);

}  // namespace mlxn::msl
