#pragma once

#include <optional>

#include "llvm/IR/Function.h"
#include "metal/msl/interface.h"
#include "metal/msl/passes/regions.h"

namespace mlxn::msl {

// Tier 0, for kernels without cross-lane operations: adds the function kernel.symbol, three nested
// loops over the threads of a threadgroup. They are independent, so the loops carry that fact and
// LLVM vectorises the inner one. `entry` is inlined into it. Where that pays, the threads of a row
// are taken 16 at a time (see wide_loop.h), or else the result says why not.
std::optional<Refusal> build_work_item_loop(llvm::Function& entry, Kernel& kernel);

}  // namespace mlxn::msl
