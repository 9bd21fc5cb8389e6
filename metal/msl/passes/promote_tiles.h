// Makes matrices of a simdgroup tiles, see tiles.h. In the entry function of one thread a matrix is
// a pair of elements; it passes from load to product to store through phis, selects, conversions
// and arithmetic on either element. All of these work on whole tiles as well; so do loads by which
// every lane fetches the two elements that are its own. A matrix comes
// apart into lanes only where other code touches its elements, or where lanes differ in what they
// do.
#pragma once

#include <functional>

#include "llvm/IR/Function.h"

namespace mlxn::msl {

// What promote_tiles must know about a function.
struct TileFacts {
  std::function<bool(const llvm::Value*)> uniform;  // equal in all lanes of a simdgroup
  std::function<bool(const llvm::BasicBlock*)> uniform_control;  // all lanes come here, or none
  llvm::Argument* thread = nullptr;                              // the thread's linear index, i32
  unsigned threads = 0;                                          // it is below this
};

// Turns matrices into tiles; loads and stores that cannot be one are lowered as lower_matrix_memory
// does. Every simdgroup must have 32 lanes, and all of them must take part in matrix products. No
// pass that takes vectors apart may run afterwards.
// Returns whether there are tiles now.
bool promote_tiles(llvm::Function& entry, const TileFacts& facts);

}  // namespace mlxn::msl
