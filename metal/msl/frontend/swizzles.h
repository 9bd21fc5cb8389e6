#pragma once

#include <vector>

#include "clang/Lex/Preprocessor.h"

namespace mlxn::msl {

// Makes one of several swizzles in a row: v.yz.y becomes v.z. What the library offers as a swizzle
// is a copy, which cannot be assigned to. A name that a class of the source's own has may be a
// member of that class and stays.
std::vector<clang::Token> join_swizzles(clang::Preprocessor& preprocessor,
                                        const std::vector<clang::Token>& tokens);

}  // namespace mlxn::msl
