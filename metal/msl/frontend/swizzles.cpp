#include "metal/msl/frontend/swizzles.h"

#include <optional>
#include <set>

namespace mlxn::msl {

namespace {

using clang::Token;
namespace tok = clang::tok;

llvm::StringRef word_of(const Token& token) {
  if (token.isAnnotation() || token.isLiteral() || !token.getIdentifierInfo()) return {};
  return token.getIdentifierInfo()->getName();
}

// The component numbers a name stands for, if it is a swizzle.
std::optional<std::vector<unsigned>> components_of(llvm::StringRef name) {
  if (name.empty() || name.size() > 4) return std::nullopt;
  for (llvm::StringRef letters : {"xyzw", "rgba"}) {
    std::vector<unsigned> components;
    for (char c : name)
      if (size_t at = letters.find(c); at != llvm::StringRef::npos)
        components.push_back(unsigned(at));
    if (components.size() == name.size()) return components;
  }
  return std::nullopt;
}

bool is_selector(const Token& token) {
  return token.isOneOf(tok::period, tok::arrow);
}

// The swizzle v.first.second is of v. Only parts of v that can be assigned to count: no component
// twice in the first.
std::optional<std::string> joined(llvm::StringRef first, llvm::StringRef second) {
  auto outer = components_of(first), inner = components_of(second);
  if (!outer || !inner || outer->size() < 2) return std::nullopt;
  if (std::set<unsigned>(outer->begin(), outer->end()).size() != outer->size()) return std::nullopt;
  std::string name;
  for (unsigned component : *inner) {
    if (component >= outer->size()) return std::nullopt;
    name += "xyzw"[(*outer)[component]];
  }
  return name;
}

// Names in the bodies of the source's own classes, other than after a dot or an arrow: those of its
// members are among them.
std::set<llvm::StringRef> own_names(const std::vector<Token>& tokens) {
  std::set<llvm::StringRef> names;
  unsigned depth = 0;       // of braces inside a class
  bool class_head = false;  // between the word `struct` and what ends the declaration
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.isOneOf(tok::kw_struct, tok::kw_class, tok::kw_union))  // not <class T, class U>
      class_head = i == 0 || !tokens[i - 1].isOneOf(tok::less, tok::comma);
    if (token.isOneOf(tok::semi, tok::l_paren)) class_head = false;
    if (token.is(tok::l_brace) && (depth > 0 || class_head)) ++depth;
    if (token.is(tok::l_brace)) class_head = false;
    if (token.is(tok::r_brace) && depth > 0) --depth;
    llvm::StringRef name = depth > 0 ? word_of(token) : llvm::StringRef();
    if (name.size() > 1 && components_of(name) && !is_selector(tokens[i - 1])) names.insert(name);
  }
  return names;
}

}  // namespace

std::vector<Token> join_swizzles(clang::Preprocessor& preprocessor,
                                 const std::vector<Token>& tokens) {
  const std::set<llvm::StringRef> own = own_names(tokens);
  std::vector<Token> result;
  for (size_t i = 0; i < tokens.size(); ++i) {
    result.push_back(tokens[i]);
    // The name just added, with the next ones for as long as they are swizzles of it.
    while (result.size() > 1 && is_selector(result[result.size() - 2]) && i + 2 < tokens.size() &&
           tokens[i + 1].is(tok::period) && !own.count(word_of(result.back()))) {
      auto name = joined(word_of(result.back()), word_of(tokens[i + 2]));
      if (!name) break;
      result.back().setIdentifierInfo(preprocessor.getIdentifierInfo(*name));
      result.back().setLength(unsigned(name->size()));
      i += 2;
    }
  }
  return result;
}

}  // namespace mlxn::msl
