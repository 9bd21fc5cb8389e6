#pragma once

#include <functional>

#include "tests/tiers/program.h"

namespace mlxn::tiers {

// Drops statements, or puts the body of a compound one in its place, as long as `fails` holds; at
// most `attempts` tries.
Program shrink(const Program& program, const std::function<bool(const Program&)>& fails,
               int attempts);

}  // namespace mlxn::tiers
