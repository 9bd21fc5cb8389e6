// The levels of x86-64: x86-64 itself, x86-64-v2, -v3 and -v4.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metal/msl/interface.h"
#include "mlxn/base/result.h"

namespace mlxn::cpu {

inline constexpr int kHighestLevel = 4;

// 1 to 4; 0 for names that are no level.
int level_of(std::string_view cpu);
std::string level_name(int level);

// The plain levels whose code a machine of this target runs, highest first: for x86-64-v4 with
// extensions x86-64-v4, -v3, -v2 and x86-64. Empty for targets that name no level.
std::vector<msl::Target> plain_levels(const msl::Target& target);

// Whether the machine runs code for a level; names that are none are refused.
Status check_level(const std::string& wanted, const msl::Target& machine);

}  // namespace mlxn::cpu
