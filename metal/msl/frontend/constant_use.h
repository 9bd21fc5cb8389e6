#pragma once

#include <map>
#include <set>
#include <string>

#include "clang/AST/Decl.h"

namespace mlxn::msl {

// Names of the function constants, among the keys of `constants`, that a kernel refers to: in its
// own body and parameters and in everything it calls or reads. Of a template it takes in what other
// instantiations refer to, as far as the template's own text shows it.
std::set<std::string> constants_used_by(const clang::FunctionDecl& kernel,
                                        const std::map<std::string, bool>& constants);

}  // namespace mlxn::msl
