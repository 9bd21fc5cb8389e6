// Pointers that all lanes of a simdgroup move along together, such as `x += stride` in a loop. Each
// lane would carry a pointer of its own, and nobody would see that they lie side by side:
//
//   pointer[lane] = start + 8 * lane; loop { load pointer[lane]; pointer[lane] += n; }
//
// becomes one pointer for all:
//
//   pointer = start; loop { load pointer + 8 * lane; pointer += n; }
#pragma once

#include "llvm/IR/Function.h"
#include "metal/msl/passes/uniformity.h"

namespace mlxn::msl {

// `threads`: the threadgroup has at most as many; all simdgroups have all their lanes. Values that
// are uniform stay so; returns whether anything has changed.
bool join_moving_pointers(llvm::Function& entry, const Uniformity& uniformity, unsigned threads);

}  // namespace mlxn::msl
