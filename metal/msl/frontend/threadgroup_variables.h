#pragma once

#include <memory>

#include "clang/AST/ASTConsumer.h"

namespace mlxn::msl {

// Threadgroup memory begins with no value: of a variable there, each thread would run the
// constructor over what others have written. Passes on every declaration without the default
// construction of such variables.
std::unique_ptr<clang::ASTConsumer> without_threadgroup_construction(
    std::unique_ptr<clang::ASTConsumer> next);

}  // namespace mlxn::msl
