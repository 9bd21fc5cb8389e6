// Overloads that differ in nothing but address spaces. Once the spaces are erased they are the same
// C++ function. Those with the same body become one; of the others each gets a name of its own, and
// calls are renamed to the one that the space of their arguments selects (see overload_choice.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "clang/Lex/Token.h"
#include "metal/msl/frontend/address_space.h"

namespace mlxn::msl {

// Half-open range of token positions.
struct TokenRange {
  size_t begin = 0;
  size_t end = 0;
};

// One of the overloads.
struct Variant {
  TokenRange declaration, body, parameter_list;
  size_t name = 0;                 // token
  std::vector<Space> parameters;   // kUnknown for those that are no pointer or reference
  Space object = Space::kUnknown;  // of a member function: f() const device
  Space result = Space::kUnknown;
  std::string text;  // parameters and body without address spaces

  bool has_spaces_of(const Variant& other) const {
    return parameters == other.parameters && object == other.object;
  }
};

struct OverloadSet {
  std::vector<Variant> variants;  // the first keeps its name
  bool distinct = false;          // each variant stays
  bool is_function = false;       // else a class, specialised for pointers
  bool has_name = false;          // a function that is no operator, so that it can be renamed
  bool is_constructor = false;
  bool uses_address_space = false;
};

// The sets of a source, by the location of each variant's name.
class OverloadSets {
 public:
  // A variant among its set.
  struct Member {
    size_t set, variant;
  };

  void add(const std::vector<clang::Token>& tokens, const OverloadSet& set);
  void add_prototype(const std::vector<clang::Token>& tokens, const OverloadSet& set,
                     const Variant& prototype);

  const OverloadSet& operator[](size_t i) const { return sets_[i]; }
  const Member* find(clang::SourceLocation name) const {
    auto found = by_name_.find(name.getRawEncoding());
    return found == by_name_.end() ? nullptr : &found->second;
  }
  // Whether any call has to be resolved by address spaces.
  bool need_choice() const { return !renamed_.empty() || !tagged_.empty(); }
  // For tokens of declarations: the number of the variant a name, or the closing parenthesis of a
  // constructor's parameters, belongs to; 0 where nothing changes.
  unsigned renamed(size_t token) const { return number(renamed_, token); }
  unsigned tagged(size_t token) const { return number(tagged_, token); }

 private:
  using Numbers = std::map<size_t, unsigned>;
  static unsigned number(const Numbers& numbers, size_t token) {
    auto found = numbers.find(token);
    return found == numbers.end() ? 0 : found->second;
  }
  void rename(const OverloadSet& set, const Variant& declaration, unsigned number);

  std::vector<OverloadSet> sets_;
  std::map<unsigned, Member> by_name_;
  Numbers renamed_, tagged_;
};

// The parameters of a list, at its commas.
std::vector<TokenRange> split_parameters(const std::vector<clang::Token>& tokens, TokenRange list);

// A parameter's type alone.
TokenRange without_name(const std::vector<clang::Token>& tokens, TokenRange parameter);

// Decides which sets stay distinct: those whose bodies differ, and those whose bodies name one that
// is distinct, since the same text means something else in each variant.
void mark_distinct(const std::vector<clang::Token>& tokens, std::vector<OverloadSet>& sets);

}  // namespace mlxn::msl
