#pragma once

#include <string>

#include "metal/msl/interface.h"

namespace mlxn::msl {

// The version of generated code: tool chain, shim and lowering. Known without loading the module, so
// that cache look-ups need no LLVM. Changed by hand or by the build whenever code generation changes.
std::string code_version();

// Loads the compiler module on first call (thread-safe) and keeps it for the life of the process.
// Looked for beside this library, then in ../lib, then by the setting msl_module.
Result<const Compiler*> compiler();

}  // namespace mlxn::msl
