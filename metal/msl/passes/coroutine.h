#pragma once

#include "llvm/IR/Function.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

// Coroutine tier: adds the function kernel.symbol, which starts one thread. `entry` must be fully
// inlined.
void build_coroutine(llvm::Function& entry, Kernel& kernel);

// After the coroutine passes: reads the size of the frame and removes the marker that carried it.
Status read_frame_size(llvm::Function& start, Kernel& kernel);

}  // namespace mlxn::msl
