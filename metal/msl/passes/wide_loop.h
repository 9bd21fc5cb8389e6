// Runs a set of 16 threads at once: what differs between them is a vector of 16, what does not is
// kept once. A loop of the kernel then carries its sums in vector registers, which LLVM's
// vectorisers, that take innermost loops only, do not achieve.
#pragma once

#include <optional>

#include "llvm/IR/Function.h"
#include "metal/msl/passes/regions.h"

namespace mlxn::msl {

// A function with the parameters of `entry`, an entry function without cross-lane operations, for
// the set that begins at the thread it is given (see thread_steps.h; the width of the dispatch must
// be a multiple of 16). Null where that is not possible or not worth it: then `refusal` says why.
llvm::Function* make_wide(llvm::Function& entry, std::optional<Refusal>& refusal);

}  // namespace mlxn::msl
