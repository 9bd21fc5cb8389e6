#pragma once

#include "metal/msl/frontend/space_finder.h"
#include "metal/msl/frontend/user_code.h"

namespace mlxn::msl {

// Reports pointers and references that change their address space: in initialisation, assignment,
// arguments, results and casts. What is not certain is no error.
void check_address_spaces(const UserCode& code, SpaceFinder& finder);

}  // namespace mlxn::msl
