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

namespace mlxn::msl {

// Half-open range of token positions.
struct TokenRange {
  size_t begin = 0;
  size_t end = 0;
};

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
  bool optional = false;   // the source asks is_function_constant_defined for it
  TokenRange declaration;  // whole declaration with its semicolon
  TokenRange type;
  TokenRange index;  // argument of [[function_constant(...)]]
};

struct ScanResult {
  std::vector<EntryPoint> entry_points;
  std::vector<FunctionConstantDecl> constants;
  std::vector<TokenRange>
      dropped;  // explicit kernel instantiations and repeated overloads, ascending
};

// The identifier or keyword a token is; empty for all others.
llvm::StringRef word_of(const clang::Token& token);

// Position of the token that closes the bracket at `i`, or `end`.
size_t closing_bracket(const std::vector<clang::Token>& tokens, size_t i, size_t end);

// True for words that name an address space.
bool is_address_space(llvm::StringRef word);

// Scans `tokens`. Reports overloads that differ in address space and body through the
// preprocessor's diagnostics.
ScanResult scan(clang::Preprocessor& preprocessor, const std::vector<clang::Token>& tokens);

}  // namespace mlxn::msl
