#pragma once

#include <map>
#include <string>
#include <vector>

#include "metal/msl/interface.h"

namespace mlxn::msl {

// C++ initialisers, by name, for the function constants that `values` sets. Fails on an unknown
// name or index and on a type that is not the declared one.
Result<std::map<std::string, std::string>> constant_initialisers(
    const std::vector<FunctionConstant>& declared, const std::vector<ConstantValue>& values);

}  // namespace mlxn::msl
