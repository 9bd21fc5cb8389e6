#pragma once

#include <string>
#include <vector>

#include "llvm/IR/Module.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

// Turns entry functions into CUDA kernels: one pointer parameter per buffer index in use, in order
// of index, then the exact grid size as three i32. Threadgroup memory is one dynamic shared block:
// the static variables first, then the [[threadgroup(n)]] arguments in order of index.
Status lower_to_ptx(llvm::Module& module, std::vector<Kernel>& kernels);

// Links the math functions the module calls from the bitcode file at `path`.
Status link_libdevice(llvm::Module& module, const std::string& path);

}  // namespace mlxn::msl
