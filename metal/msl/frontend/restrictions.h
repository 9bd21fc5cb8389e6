// What C++ allows and MSL does not.
#pragma once

#include <set>

#include "clang/Lex/Preprocessor.h"
#include "metal/msl/frontend/user_code.h"

namespace mlxn::msl {

// Reports words such as `goto` and `double`.
void check_words(clang::Preprocessor& preprocessor, const std::vector<clang::Token>& tokens);

// Reports variables that keep their value between kernels, calls of kernels and recursion, other
// than functions that end with a call of themselves. `kernels` holds the locations of their names.
void check_restrictions(const UserCode& code, const std::set<unsigned>& kernels);

}  // namespace mlxn::msl
