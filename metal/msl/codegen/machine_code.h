// The target and its machine code.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
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

// Object code or PTX for Emit::kCode, text for the others.
Result<std::vector<uint8_t>> emit(llvm::Module& module, llvm::TargetMachine& machine, Emit what);

}  // namespace mlxn::msl
