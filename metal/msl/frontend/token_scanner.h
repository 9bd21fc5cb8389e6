// Finds the declarations in a preprocessed MSL token stream: entry points, function constants and
// overloads that differ only in address space. Works on tokens alone, so that instantiations nobody
// asked for are never parsed.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "clang/Lex/Preprocessor.h"
#include "clang/Lex/Token.h"
#include "metal/msl/frontend/overloads.h"

namespace mlxn::msl {

// Something `newFunctionWithName` can find.
struct EntryPoint {
  std::string name;                  // host name
  std::vector<clang::Token> callee;  // how the source names the function: k, or k<float, 4>
  TokenRange
      parameters;  // of an instantiation that leaves template arguments to deduction, else empty
  std::vector<clang::Token> plain_parameters;  // the same as C++ (see token_rewriter.h)
  std::vector<std::string> scope;              // enclosing namespaces, outermost first
  std::string base_name;                       // function or template name without arguments
  clang::SourceLocation location;
};

struct FunctionConstantDecl {
  std::string name;
  bool optional = false;  // the source asks is_function_constant_defined for it
  size_t name_token = 0;
  TokenRange declaration;  // with its semicolon; constants declared together share it
  TokenRange type;
  TokenRange index;  // argument of [[function_constant(...)]]
};

struct ScanResult {
  std::vector<EntryPoint> entry_points;
  std::vector<FunctionConstantDecl> constants;
  OverloadSets overloads;
  std::set<unsigned> kernels;  // locations of the names of kernels and kernel templates
  std::vector<TokenRange>
      dropped;  // explicit kernel instantiations and repeated overloads, ascending
};

// The identifier or keyword a token is; empty for all others.
llvm::StringRef word_of(const clang::Token& token);

// Position of the token that closes the bracket at `i`, or `end`.
size_t closing_bracket(const std::vector<clang::Token>& tokens, size_t i, size_t end);

// Position of the `>` that closes the template list opened at `i`, or `end`; `>>` counts twice.
size_t closing_angle(const std::vector<clang::Token>& tokens, size_t i, size_t end);

// True for words that name an address space.
bool is_address_space(llvm::StringRef word);

// Scans `tokens`. Reports what it refuses through the preprocessor's diagnostics.
ScanResult scan(clang::Preprocessor& preprocessor, const std::vector<clang::Token>& tokens);

}  // namespace mlxn::msl
