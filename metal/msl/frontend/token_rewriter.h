// Turns preprocessed MSL tokens into C++17 tokens for Clang's parser. Every rule is token-local;
// new tokens take the location of the one they replace, so diagnostics point at the user's own
// text.
//
//   [[name(args)]]        -> __attribute__((annotate("msl.name", args)))      for MSL's attributes
//   kernel                -> inline
//   device, thread        -> nothing
//   constant              -> const
//   threadgroup           -> annotate("msl.threadgroup_storage") on a declaration of storage, else
//                            nothing
//   address space after a member function's parameters -> nothing
//   static_cast<          -> __msl_static_cast<     (Clang lacks half <-> bfloat casts)
//   function constants    -> static constexpr with their value, or extern const when not set
//   is_function_constant_defined(x) -> true or false
//   explicit kernel instantiations and repeated overloads -> nothing (see token_scanner.h)
//   f, one of several overloads that differ in address space and body -> f__msl_space1;
//   a constructor gets a parameter __msl_space_tag<1> instead (see overloads.h)
#pragma once

#include <map>
#include <string>
#include <vector>

#include "clang/Lex/Preprocessor.h"
#include "metal/msl/frontend/overload_choice.h"
#include "metal/msl/frontend/token_scanner.h"

namespace mlxn::msl {

struct RewriteOptions {
  // C++ initialisers of the function constants that have a value, by name.
  std::map<std::string, std::string> constant_values;
  // Calls of overloads that differ only in address space.
  OverloadChoices choices;
  // Analysis: declare __msl_fc_index_<name> beside each function constant, drop loop hints.
  bool analysis = false;
};

std::vector<clang::Token> rewrite(clang::Preprocessor& preprocessor,
                                  const std::vector<clang::Token>& tokens, const ScanResult& scan,
                                  const RewriteOptions& options);

// The tokens of a parameter list as C++ parameters: no address spaces, no attributes.
std::vector<clang::Token> plain_parameters(clang::Preprocessor& preprocessor,
                                           const std::vector<clang::Token>& tokens,
                                           TokenRange range);

// Tokens of generated C++ text. The text is registered under `name` with the source manager.
std::vector<clang::Token> lex_text(clang::Preprocessor& preprocessor, const std::string& text,
                                   const std::string& name);

// Names of attributes MSL defines; all others are left to Clang.
bool is_msl_attribute(llvm::StringRef name);

}  // namespace mlxn::msl
