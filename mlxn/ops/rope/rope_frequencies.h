// The frequencies of a rope table, on the host and in double.
#pragma once

#include "mlxn/ops/rope/rope.h"
#include "mlxn/ops/rope/rope_args.h"

namespace mlxn {

RopeFrequencies rope_frequencies(const RopeTableParams& params, uint32_t pairs);

// What cosine and sine are multiplied by.
float rope_magnitude(const RopeTableParams& params);

// Rows of positions.
uint32_t rope_axis_count(RopeAxes axes);

}  // namespace mlxn
