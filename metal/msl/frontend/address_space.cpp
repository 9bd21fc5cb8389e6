#include "metal/msl/frontend/address_space.h"

#include "llvm/ADT/StringSwitch.h"
#include "metal/msl/frontend/token_scanner.h"

namespace mlxn::msl {

using clang::Token;
namespace tok = clang::tok;

Space space_named(llvm::StringRef word) {
  return llvm::StringSwitch<Space>(word)
      .Case("device", Space::kDevice)
      .Case("constant", Space::kConstant)
      .Case("threadgroup", Space::kThreadgroup)
      .Case("thread", Space::kThread)
      .Default(Space::kUnknown);
}

const char* name_of(Space space) {
  switch (space) {
    case Space::kDevice: return "device";
    case Space::kConstant: return "constant";
    case Space::kThreadgroup: return "threadgroup";
    case Space::kThread: return "thread";
    default: return "unknown";
  }
}

namespace {

bool is_pointer_mark(const Token& token) {
  return token.isOneOf(tok::star, tok::amp, tok::ampamp);
}

// Words between an address space and the * it belongs to.
bool is_part_of_type(const Token& token) {
  if (token.isOneOf(tok::coloncolon, tok::identifier)) return true;
  return !word_of(token).empty() &&
         !token.isOneOf(tok::kw_operator, tok::kw_return, tok::kw_template);
}

// Position after the declarator's type: the * or &, or whatever else ends it.
size_t end_of_type(const std::vector<Token>& tokens, size_t i) {
  for (; i < tokens.size(); ++i) {
    if (space_named(word_of(tokens[i])) != Space::kUnknown) return tokens.size();
    bool attribute =
        tokens[i].is(tok::l_square) && i + 1 < tokens.size() && tokens[i + 1].is(tok::l_square);
    bool after_decltype =
        tokens[i].is(tok::l_paren) && tokens[i - 1].isOneOf(tok::kw_decltype, tok::kw___attribute);
    if (attribute || after_decltype)
      i = closing_bracket(tokens, i, tokens.size());
    else if (tokens[i].is(tok::less) && tokens[i - 1].is(tok::identifier))
      i = closing_angle(tokens, i, tokens.size());
    else if (tokens[i].is(tok::l_paren) && i + 1 < tokens.size() && is_pointer_mark(tokens[i + 1]))
      return i + 1;  // device float (*rows)[4]
    else if (!is_part_of_type(tokens[i]))
      return i;
  }
  return i;
}

}  // namespace

PointerSpaces::PointerSpaces(const std::vector<Token>& tokens) {
  std::vector<tok::TokenKind> open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].isOneOf(tok::l_paren, tok::l_brace, tok::l_square))
      open.push_back(tokens[i].getKind());
    if (tokens[i].isOneOf(tok::r_paren, tok::r_brace, tok::r_square) && !open.empty())
      open.pop_back();
    Space space = space_named(word_of(tokens[i]));
    if (space == Space::kUnknown) continue;
    size_t mark = end_of_type(tokens, i + 1);
    if (mark >= tokens.size() || !is_pointer_mark(tokens[mark])) continue;
    spaces_[tokens[mark].getLocation().getRawEncoding()] = space;
    if (!open.empty() && open.back() != tok::l_brace) continue;
    // device float *p, *q;
    for (size_t k = mark; k + 1 < tokens.size() && !tokens[k].is(tok::semi); ++k) {
      bool body = tokens[k].is(tok::l_brace) && !tokens[k - 1].is(tok::equal);
      if (body || tokens[k].is(tok::r_brace)) break;
      if (tokens[k].isOneOf(tok::l_paren, tok::l_brace, tok::l_square))
        k = closing_bracket(tokens, k, tokens.size());
      else if (tokens[k].is(tok::comma) && is_pointer_mark(tokens[k + 1]))
        spaces_[tokens[k + 1].getLocation().getRawEncoding()] = space;
    }
  }
}

Space outermost_space(const std::vector<Token>& tokens, size_t begin, size_t end) {
  Space written = Space::kUnknown, result = Space::kUnknown;
  for (size_t i = begin; i < end; ++i) {
    if (Space space = space_named(word_of(tokens[i])); space != Space::kUnknown) written = space;
    if (tokens[i].is(tok::equal)) break;
    if (tokens[i].is(tok::less) && i > begin && tokens[i - 1].is(tok::identifier))
      i = closing_angle(tokens, i, end);
    else if (is_pointer_mark(tokens[i])) {
      result = written == Space::kUnknown ? Space::kThread : written;
      written = Space::kUnknown;
    }
  }
  return result;
}

}  // namespace mlxn::msl
