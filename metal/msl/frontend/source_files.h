#pragma once

#include <string>
#include <vector>

#include "llvm/Support/VirtualFileSystem.h"

namespace mlxn::msl {

// Where our headers lie inside the compiler's file system.
inline constexpr const char* kStdlibFolder = "/msl/stdlib";

// A file system that holds the embedded standard library, the precompiled prelude if given (it must
// outlive the result) and, of the real one, only what lies below `include_dirs`: source text can
// include nothing else of the machine.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> make_file_system(
    const std::vector<std::string>& include_dirs, const llvm::MemoryBuffer* prelude = nullptr);

}  // namespace mlxn::msl
