#pragma once

#include <string_view>

namespace mlxn::cpu {

// Address of a function that compiled kernels may call: C's math functions, memory moves and the
// conversions a compiler emits for half and bfloat. Null for any other name; kernels reach nothing
// else.
void* runtime_symbol(std::string_view name);

}  // namespace mlxn::cpu
