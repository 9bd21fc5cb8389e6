#pragma once

#include <optional>

#include "llvm/IR/Function.h"
#include "metal/msl/interface.h"
#include "metal/msl/passes/regions.h"

namespace mlxn::msl {

// Tier 1: adds the function kernel.symbol, which runs a threadgroup with uniform control flow kept
// once and loops over lanes between cross-lane operations. `entry` has a fixed shape and is scalar;
// it is changed, but stays.
std::optional<Refusal> build_uniform_regions(llvm::Function& entry, Kernel& kernel,
                                             const Shape& shape);

}  // namespace mlxn::msl
