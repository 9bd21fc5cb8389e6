#pragma once

#include <string>
#include <vector>

#include "clang/Frontend/CompilerInstance.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/VirtualFileSystem.h"

namespace mlxn::msl {

// Prepares `compiler` to compile `source` with the given cc1 arguments, silently but for
// `diagnostics`. The source and the diagnostics must outlive the compiler. False when an argument
// is wrong.
bool set_up(clang::CompilerInstance& compiler, clang::DiagnosticConsumer& diagnostics,
            const std::vector<std::string>& arguments, const llvm::MemoryBuffer& source,
            llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files);

}  // namespace mlxn::msl
