// Matrices of a simdgroup that lanes load by themselves, each its two elements.
#pragma once

#include <optional>

#include "llvm/IR/Instructions.h"
#include "metal/msl/passes/lane_offsets.h"

namespace mlxn::msl {

// Where such a matrix lies in memory; distances are in elements.
struct LoadedMatrix {
  llvm::LoadInst* first = nullptr;  // of a lane's two elements
  llvm::LoadInst* later = nullptr;  // of the two loads
  int64_t down = 0, across = 0;
};

// The matrix of which every lane loads its own two elements by these loads, if they do: nothing is
// written between the two, and all lanes' addresses lie as the elements of a matrix do. All lanes
// come to the loads together.
std::optional<LoadedMatrix> find_loaded_matrix(llvm::LoadInst& first, llvm::LoadInst& second,
                                               LaneOffsets& offsets);

}  // namespace mlxn::msl
