// Loads that lie side by side in a lane, but not from lane to lane, in loops over the lanes of a
// simdgroup: lane 0 loads a[0] to a[3], lane 1 a[16] to a[19], and so on. As vectors of lanes they
// would be gathers, of which each element costs as much as a load, or, for elements of 8 and 16
// bits, loads one by one. Instead a loop of its own loads them before, lane by lane, several
// elements at once, and stores them where the loop over lanes finds them by a constant step:
// vector loads and shuffles.
#pragma once

#include "llvm/IR/PassManager.h"

namespace mlxn::msl {

// A property of the loops for which that is done, if it can be: LaneStrides has chosen them.
inline constexpr char kStagedLoop[] = "msl.staged";

// Runs before loops are vectorised.
struct StageLoads : llvm::PassInfoMixin<StageLoads> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& manager);
};

}  // namespace mlxn::msl
