#pragma once

#include <cstdint>

#include "metal/msl/kernel_abi.h"

namespace mlxn::cpu {

// Runs the operation `op` for the lanes in `mask` (not empty): operands and results are in
// group.data. False when the word names no known operation; then nothing is changed.
bool run_simd_operation(MslSimdgroup& group, unsigned op, uint32_t mask);

}  // namespace mlxn::cpu
