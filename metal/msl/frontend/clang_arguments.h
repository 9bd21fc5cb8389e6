// How Clang is called: MSL as a dialect of C++17, with its own meaning of numbers and memory.
#pragma once

#include <string>
#include <vector>

#include "metal/msl/frontend/frontend.h"

namespace mlxn::msl {

// What decides how the prelude is parsed: the language and the kind of target, not its processor.
std::vector<std::string> language_arguments(const CompileOptions& options, const Target& target);

// All arguments for a source: language, target and options, with the standard library from its
// precompiled form or as text.
std::vector<std::string> arguments_for(const CompileOptions& options,
                                       const FrontendRequest& request, bool precompiled);

}  // namespace mlxn::msl
