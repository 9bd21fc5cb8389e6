#pragma once

#include "clang/Lex/Preprocessor.h"

namespace mlxn::msl {

// Teaches the preprocessor `#pragma METAL fp contract(off|on|fast)` and `math_mode(safe|relaxed|
// fast)`, for the rest of the file or, at its start, for a block.
void add_pragmas(clang::Preprocessor& preprocessor);

}  // namespace mlxn::msl
