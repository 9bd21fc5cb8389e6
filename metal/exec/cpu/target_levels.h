// The levels of processors that code is compiled for: x86-64, x86-64-v2, -v3 and -v4, -v3-vnni and
// -v4-vnni with the dot products of bytes, and -v4-dot with those of bytes and bfloats (BF16).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metal/msl/interface.h"
#include "mlxn/base/result.h"

namespace mlxn::cpu {

// A number for x86-64 to -v4, as LLVM names them: 1 to 4; 0 for other names.
int level_of(std::string_view cpu);
std::string level_name(int level);

// The target of a level by its name; of names that are none, a target with that name.
msl::Target target_of(const std::string& name);

// The levels whose code a machine of this target runs, best first: for x86-64-v4 with VNNI and BF16
// among its features all with AVX-512, from x86-64-v4-dot down. Empty for targets that name no
// level.
std::vector<msl::Target> plain_levels(const msl::Target& target);

// Whether the machine runs code for a level; names that are none are refused.
Status check_level(const std::string& wanted, const msl::Target& machine);

}  // namespace mlxn::cpu
