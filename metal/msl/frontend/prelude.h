#pragma once

#include <memory>
#include <string>
#include <vector>

#include "llvm/Support/MemoryBuffer.h"

namespace mlxn::msl {

// Where the compiler's file system shows the precompiled prelude.
inline constexpr const char* kPreludePch = "/msl/prelude.pch";

// The standard library, parsed once per process and set of language arguments (thread-safe): every
// later compilation loads it instead of parsing some fifty thousand tokens. Null when it could not
// be made; then the headers are included as text.
std::shared_ptr<const llvm::MemoryBuffer> precompiled_prelude(
    const std::vector<std::string>& language_arguments);

}  // namespace mlxn::msl
