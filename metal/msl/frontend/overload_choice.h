#pragma once

#include <map>

#include "metal/msl/frontend/space_finder.h"
#include "metal/msl/frontend/user_code.h"

namespace mlxn::msl {

// Which variant calls mean, for sets of overloads that differ in address space and body.
struct OverloadChoices {
  std::map<unsigned, unsigned> calls;          // location of the callee's name -> variant
  std::map<unsigned, unsigned> constructions;  // location of the closing bracket -> variant

  bool operator==(const OverloadChoices&) const = default;
};

// Reads the choices off a program in which each call means some variant of the right set. An
// argument whose address space cannot be told is an error.
OverloadChoices choose_overloads(const UserCode& code, SpaceFinder& finder);

}  // namespace mlxn::msl
