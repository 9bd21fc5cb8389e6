#include "metal/msl/frontend/overloads.h"

#include <set>

#include "metal/msl/frontend/token_scanner.h"

namespace mlxn::msl {

using clang::Token;
namespace tok = clang::tok;

std::vector<TokenRange> split_parameters(const std::vector<Token>& tokens, TokenRange list) {
  std::vector<TokenRange> result;
  size_t begin = list.begin;
  for (size_t i = list.begin; i < list.end; ++i) {
    if (tokens[i].isOneOf(tok::l_paren, tok::l_square, tok::l_brace)) {
      i = closing_bracket(tokens, i, list.end);
    } else if (tokens[i].is(tok::less) && i > list.begin && tokens[i - 1].is(tok::identifier)) {
      i = closing_angle(tokens, i, list.end);
    } else if (tokens[i].is(tok::comma)) {
      result.push_back({begin, i});
      begin = i + 1;
    }
  }
  if (begin < list.end) result.push_back({begin, list.end});
  return result;
}

TokenRange without_name(const std::vector<Token>& tokens, TokenRange parameter) {
  size_t end = parameter.begin;
  for (; end < parameter.end && !tokens[end].is(tok::equal); ++end) {
    if (tokens[end].isOneOf(tok::l_square, tok::l_paren)) break;
    if (tokens[end].is(tok::less) && end > parameter.begin && tokens[end - 1].is(tok::identifier))
      end = std::min(closing_angle(tokens, end, parameter.end), parameter.end - 1);
  }
  if (end < parameter.end && tokens[end].is(tok::l_paren)) return parameter;  // T (*name)[n]
  bool array = end < parameter.end && tokens[end].is(tok::l_square) &&
               !(end + 1 < parameter.end && tokens[end + 1].is(tok::l_square));
  if (array || end < parameter.begin + 2 || !tokens[end - 1].is(tok::identifier))
    return array ? parameter : TokenRange{parameter.begin, end};
  // What is left must name a type: `const T` has no name.
  for (size_t i = parameter.begin; i + 1 < end; ++i) {
    bool qualifier = tokens[i].isOneOf(tok::kw_const, tok::kw_volatile, tok::kw_typename) ||
                     is_address_space(word_of(tokens[i])) || tokens[i].is(tok::coloncolon);
    if (!qualifier && !tokens[end - 2].is(tok::coloncolon)) return {parameter.begin, end - 1};
  }
  return {parameter.begin, end};
}

void mark_distinct(const std::vector<Token>& tokens, std::vector<OverloadSet>& sets) {
  std::set<llvm::StringRef> names;
  auto mark = [&](OverloadSet& set) {
    set.distinct = true;
    if (set.has_name) names.insert(word_of(tokens[set.variants[0].name]));
  };
  for (OverloadSet& set : sets)
    for (const Variant& variant : set.variants)
      if (!set.distinct && variant.text != set.variants[0].text) mark(set);
  auto names_distinct = [&](const OverloadSet& set) {
    TokenRange body = set.variants[0].body;
    for (size_t i = body.begin; i < body.end; ++i)
      if (names.count(word_of(tokens[i]))) return true;
    return false;
  };
  for (bool changed = !names.empty(); changed;) {
    changed = false;
    for (OverloadSet& set : sets) {
      if (set.variants.size() < 2 || set.distinct || !names_distinct(set)) continue;
      mark(set);
      changed = true;
    }
  }
}

void OverloadSets::add(const std::vector<Token>& tokens, const OverloadSet& set) {
  for (size_t i = 0; i < set.variants.size(); ++i) {
    by_name_[tokens[set.variants[i].name].getLocation().getRawEncoding()] = {sets_.size(), i};
    if (set.distinct && set.has_name) rename(set, set.variants[i], unsigned(i));
  }
  sets_.push_back(set);
}

void OverloadSets::add_prototype(const std::vector<Token>& tokens, const OverloadSet& set,
                                 const Variant& prototype) {
  if (!set.distinct || !set.has_name) return;
  const Member* first = find(tokens[set.variants[0].name].getLocation());
  for (size_t i = 0; first && i < set.variants.size(); ++i) {
    if (!set.variants[i].has_spaces_of(prototype)) continue;
    by_name_[tokens[prototype.name].getLocation().getRawEncoding()] = {first->set, i};
    return rename(set, prototype, unsigned(i));
  }
}

void OverloadSets::rename(const OverloadSet& set, const Variant& declaration, unsigned number) {
  if (number == 0) return;
  if (set.is_constructor)
    tagged_[declaration.parameter_list.end] = number;
  else
    renamed_[declaration.name] = number;
}

}  // namespace mlxn::msl
