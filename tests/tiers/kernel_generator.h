// Random kernels without races: the same result for any order of threads, so all tiers must agree.
//
// Control flow is uniform over the threadgroup, over simdgroups, or divergent. Threadgroup barriers
// stand in the first kind only; every thread that has not returned passes the same ones. Between
// two barriers a shared array is either "own" (a thread touches its own slots) or "read" (all read
// any slot, nobody writes). Blocks that pass barriers end in the state they began with, so loops
// and branches join.
#pragma once

#include <cstdint>
#include <string>

#include "tests/tiers/program.h"

namespace mlxn::tiers {

struct GeneratorOptions {
  bool cross_lane = true;  // false: no barrier and no simdgroup operation
  bool flat = false;       // one-dimensional ids
  // Loops that all threads run alike over memory that lies side by side, without cross-lane
  // operations: what the compiler runs 16 threads at a time.
  bool wide = false;
};

// The same program for the same arguments, on any machine.
Program generate_kernel(const std::string& name, uint64_t seed, const GeneratorOptions& options);

}  // namespace mlxn::tiers
