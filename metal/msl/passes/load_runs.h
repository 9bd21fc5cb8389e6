// Loads of one thread that lie side by side in memory, such as the elements of a block.
#pragma once

#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Instructions.h"

namespace mlxn::msl {

// Loads of elements of one type, each behind the one before it; loads of one element are together.
struct LoadRun {
  llvm::Type* type;
  std::vector<std::vector<llvm::LoadInst*>> elements;
};

// Puts loads whose addresses differ by constants into runs, each as long as can be; the order of
// runs is that of the loads.
std::vector<LoadRun> find_load_runs(llvm::ArrayRef<llvm::LoadInst*> loads);

// How many elements from `first` on are moved at once: 1, 2, 4 or 8, and at most
// 16 bytes.
unsigned part_of_run(const LoadRun& run, unsigned first);

}  // namespace mlxn::msl
