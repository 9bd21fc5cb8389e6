// Loops that lanes leave at different times, such as
//
//   for (i = thread; i < n; i += threads) sum += x[i];
//
// become loops that all lanes leave together, when the last one has finished:
//
//   for (k = 0; any lane has i < n; ++k) if (i < n) sum += x[i];       with i = thread + k *
//   threads
//
// Then the loop runs once for a simdgroup with a loop over lanes inside, which can be vectorised.
// Rounds in which no lane has left get a copy of the code without the test.
#pragma once

#include <set>

#include "llvm/IR/Function.h"

namespace mlxn::msl {

// Rewrites the loops for which that pays. `full`: see Uniformity. The new ballots have site 0: only
// tier 1, which does not look at sites, may be built from the result. Returns where rounds of all
// lanes begin in loops that are worth staging: these are to be regions of their own.
std::set<llvm::BasicBlock*> converge_loops(llvm::Function& entry, bool full);

}  // namespace mlxn::msl
