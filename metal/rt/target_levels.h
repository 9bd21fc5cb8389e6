#pragma once

#include <vector>

#include "metal/msl/interface.h"

namespace mlxn::rt {

// The plain levels of x86-64 whose code a machine of this target runs, highest first: for
// x86-64-v4 with extensions x86-64-v4, -v3 and -v2. Empty for targets that name no level.
std::vector<msl::Target> plain_levels(const msl::Target& target);

}  // namespace mlxn::rt
