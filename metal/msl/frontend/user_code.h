// The functions of a program as the compiler sees them in the end: templates as their
// instantiations.
#pragma once

#include <functional>
#include <vector>

#include "clang/AST/Decl.h"
#include "clang/AST/Stmt.h"

namespace mlxn::msl {

// Definitions and variables below `declarations`, without what still depends on template
// parameters and without our own headers.
struct UserCode {
  std::vector<const clang::FunctionDecl*> functions;
  std::vector<const clang::VarDecl*> globals;  // of namespaces and classes
};
UserCode collect_user_code(const std::vector<clang::Decl*>& declarations);

// Calls `visit` for every statement and expression of a function's body and of a constructor's
// member initialisers, outer ones first.
void for_each_statement(const clang::FunctionDecl& function,
                        const std::function<void(const clang::Stmt&)>& visit);

// Reports an error in the user's code.
void report_error(const clang::Decl& in, clang::SourceLocation where, const std::string& message);

}  // namespace mlxn::msl
