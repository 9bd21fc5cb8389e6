#pragma once

#include <string>

#include "metal/msl/interface.h"

namespace mlxn::msl {

// The version of generated code: tool chain, shim and lowering. Known without loading the module,
// so that cache look-ups need no LLVM. The build makes it from the LLVM version and a hash of all
// sources of metal/msl, so any change of compiler or shim changes it.
std::string code_version();

// Loads the compiler module on first call (thread-safe) and keeps it for the life of the process.
// The setting msl_module names the file; when it is empty, libmlxn_msl.so is looked for beside this
// library, then in ../lib. Fails with kUnsupported when there is no module and with kInvalidState
// when the one found comes from another build.
Result<const Compiler*> compiler();

// Where compiler() takes the module from, and why from there. Fails with kUnsupported when there is
// none.
struct ModulePlace {
  std::string path;
  std::string found_by;  // "setting msl_module", "beside the library" or "in ../lib"
};
Result<ModulePlace> find_module();

// The module's one exported symbol, `mlxn_msl_compiler`: null unless `expected_version` is the
// code_version() the module was built with.
using CompilerEntry = const Compiler* (*)(const char* expected_version);

// Makes the end of the calling thread wait for compilations that are under way, if it is the main
// one: exit() then destroys nothing that they use. compiler() alone does so when that thread
// compiles itself. Called again, it does nothing.
void close_gate_at_exit();

}  // namespace mlxn::msl
