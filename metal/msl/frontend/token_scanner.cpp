#include "metal/msl/frontend/token_scanner.h"

#include <algorithm>
#include <list>
#include <map>
#include <unordered_map>
#include <utility>

#include "llvm/ADT/StringSwitch.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

using clang::Token;
namespace tok = clang::tok;

llvm::StringRef word_of(const Token& token) {
  if (token.isAnnotation() || token.isLiteral() || !token.getIdentifierInfo()) return {};
  return token.getIdentifierInfo()->getName();
}

size_t closing_bracket(const std::vector<Token>& tokens, size_t i, size_t end) {
  int depth = 0;
  for (; i < end; ++i) {
    if (tokens[i].isOneOf(tok::l_paren, tok::l_square, tok::l_brace)) ++depth;
    if (tokens[i].isOneOf(tok::r_paren, tok::r_square, tok::r_brace) && --depth == 0) return i;
  }
  return end;
}

size_t closing_angle(const std::vector<Token>& tokens, size_t i, size_t end) {
  int depth = 0;
  for (; i < end; ++i) {
    if (tokens[i].is(tok::less)) ++depth;
    if (tokens[i].is(tok::greater)) --depth;
    if (tokens[i].is(tok::greatergreater)) depth -= 2;
    if (tokens[i].isOneOf(tok::l_paren, tok::l_square, tok::l_brace))
      i = closing_bracket(tokens, i, end);
    if (depth <= 0) return i;
  }
  return end;
}

bool is_address_space(llvm::StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases("device", "constant", "threadgroup", "thread", true)
      .Cases("threadgroup_imageblock", "ray_data", "object_data", true)
      .Default(false);
}

namespace {

class Scanner {
 public:
  Scanner(clang::Preprocessor& preprocessor, const std::vector<Token>& tokens)
      : preprocessor_(preprocessor), tokens_(tokens) {}

  ScanResult run() {
    scan_scope(0, tokens_.size(), seen_[""]);
    find_optional_constants();
    settle_overloads();
    std::sort(result_.dropped.begin(), result_.dropped.end(),
              [](TokenRange a, TokenRange b) { return a.begin < b.begin; });
    return std::move(result_);
  }

 private:
  using SeenMap = std::unordered_map<std::string, size_t>;  // signature -> index of overloads_

  enum class Kind { kDeclaration, kInitialised, kConstructor, kBody, kNone };

  // name [[function_constant(index)]]
  struct Constant {
    size_t name;
    TokenRange index;
  };

  // What scan_head learns about one declaration.
  struct Head {
    size_t begin = 0;
    size_t stop = 0;  // position of the token that ended the head
    Kind kind = Kind::kNone;
    std::string signature;  // without address-space words, attributes and names of parameters
    TokenRange parameters;  // between the parentheses
    Space object = Space::kUnknown;  // f(...) const device
    bool uses_address_space = false;
    bool has_parameters = false;
    bool is_kernel = false;
    bool is_template = false;       // template <...>
    bool is_instantiation = false;  // template without <...>
    bool is_namespace = false, is_class = false, is_enum = false, is_linkage = false;
    std::string host_name;
    std::vector<Constant> constants;  // of function_constant attributes
    size_t name = 0;                  // identifier before the parameter list
  };

  const Token& at(size_t i) const { return tokens_[i]; }
  llvm::StringRef word(size_t i) const {
    return i < tokens_.size() ? word_of(tokens_[i]) : llvm::StringRef();
  }
  bool is(size_t i, tok::TokenKind kind) const { return i < tokens_.size() && tokens_[i].is(kind); }

  size_t closing(size_t i, size_t end) const { return closing_bracket(tokens_, i, end); }

  bool starts_attribute(size_t i, size_t end) const {
    return i + 1 < end && is(i, tok::l_square) && is(i + 1, tok::l_square);
  }

  std::string string_argument(TokenRange range) const {
    std::string text;
    for (size_t i = range.begin; i < range.end; ++i) {
      if (!at(i).is(tok::string_literal)) continue;
      std::string literal = preprocessor_.getSpelling(at(i));
      text += literal.substr(1, literal.size() - 2);
    }
    return text;
  }

  // Reads the attribute list that starts at `i`; returns the position after it.
  size_t read_attribute(size_t i, size_t end, Head& head) const {
    size_t close = closing(i, end);
    for (size_t k = i + 2; k < close; ++k) {
      llvm::StringRef name = word(k);
      TokenRange argument;
      if (is(k + 1, tok::l_paren)) argument = {k + 2, closing(k + 1, end)};
      if (name == "host_name") head.host_name = string_argument(argument);
      if (name == "kernel") head.is_kernel = true;
      if (name == "function_constant" && i > head.begin)
        head.constants.push_back({i - 1, argument});
      if (argument.end) k = argument.end;
    }
    return close + 1;
  }

  void append(std::string& signature, llvm::StringRef text) const {
    signature += text;
    signature += ' ';
  }

  // Adds tokens to a signature, leaving out address spaces; `constant` counts as `const`, once.
  void append_range(TokenRange range, Head& head) const {
    for (size_t i = range.begin; i < range.end; ++i) {
      if (starts_attribute(i, range.end)) {
        i = closing(i, range.end);
        continue;
      }
      append_token(i, head);
    }
  }

  void append_token(size_t i, Head& head) const {
    llvm::StringRef name = word(i);
    bool constant = name == "constant";
    if (is_address_space(name)) {
      head.uses_address_space = true;
      if (!constant) return;
    }
    if (constant || at(i).is(tok::kw_const)) {
      if (!llvm::StringRef(head.signature).ends_with("const ")) append(head.signature, "const");
      return;
    }
    // A pragma has no text; bodies with one are the same if it is of the same kind.
    append(head.signature, at(i).isAnnotation() ? llvm::StringRef(at(i).getName()).str()
                                                : preprocessor_.getSpelling(at(i)));
  }

  // Adds the parameters of a function, without their names and default values.
  void append_parameters(TokenRange list, Head& head) const {
    append(head.signature, "(");
    for (TokenRange parameter : split_parameters(tokens_, list)) {
      append_range(without_name(tokens_, parameter), head);
      append(head.signature, ",");
    }
    append(head.signature, ")");
  }

  // Reads a declaration up to the token that decides what it is.
  Head scan_head(size_t i, size_t end) const {
    Head head;
    head.begin = i;
    while (i < end) {
      const Token& token = at(i);
      if (starts_attribute(i, end)) {
        i = read_attribute(i, end, head);
        continue;
      }
      if (token.isAnnotation()) {
        ++i;
        continue;
      }
      if (token.is(tok::kw_template)) {
        if (is(i + 1, tok::less)) {
          size_t close = closing_angle(tokens_, i + 1, end);
          append_range({i, std::min(close + 1, end)}, head);
          head.is_template = true;
          i = close + 1;
          continue;
        }
        if (i == head.begin) head.is_instantiation = true;
      }
      if (word(i) == "kernel") {
        head.is_kernel = true;
        ++i;
        continue;
      }
      if (token.is(tok::kw___attribute) && is(i + 1, tok::l_paren)) {
        i = closing(i + 1, end) + 1;
        continue;
      }
      if (!head.has_parameters) {
        head.is_namespace |= token.is(tok::kw_namespace);
        head.is_class |= token.isOneOf(tok::kw_struct, tok::kw_class, tok::kw_union);
        head.is_enum |= token.is(tok::kw_enum);
        head.is_linkage |=
            token.is(tok::string_literal) && i > head.begin && at(i - 1).is(tok::kw_extern);
      }
      if (token.is(tok::l_paren)) {
        size_t close = closing(i, end);
        bool is_operator_call = i >= 1 && at(i - 1).is(tok::kw_operator);
        if (!head.has_parameters && !is_operator_call && !at(i - (i > 0)).is(tok::kw_decltype)) {
          head.name = i - 1;
          head.has_parameters = true;
          head.parameters = {i + 1, std::min(close, end)};
          append_parameters(head.parameters, head);
        } else {
          append_range({i, std::min(close + 1, end)}, head);
        }
        i = close + 1;
        continue;
      }
      if (token.is(tok::semi)) return finish(head, i, Kind::kDeclaration);
      if (token.is(tok::equal) && !(i > 0 && at(i - 1).is(tok::kw_operator)))
        return finish(head, i, Kind::kInitialised);
      if (token.is(tok::colon) && head.has_parameters) return finish(head, i, Kind::kConstructor);
      if (token.is(tok::l_brace)) return finish(head, i, Kind::kBody);
      if (head.has_parameters && is_address_space(word(i))) {  // f(...) constant {
        head.uses_address_space = true;
        head.object = space_named(word(i));
      } else {
        append_token(i, head);
      }
      ++i;
    }
    head.stop = end;
    return head;
  }

  static Head finish(Head head, size_t stop, Kind kind) {
    head.stop = stop;
    head.kind = kind;
    return head;
  }

  // Position after the declaration whose head ended at head.stop.
  size_t declaration_end(const Head& head, size_t end) const {
    size_t i = head.stop;
    switch (head.kind) {
      case Kind::kDeclaration: return i + 1;
      case Kind::kInitialised:
        for (; i < end && !at(i).is(tok::semi); ++i)
          if (at(i).isOneOf(tok::l_brace, tok::l_paren, tok::l_square)) i = closing(i, end);
        return std::min(i + 1, end);
      case Kind::kConstructor:  // skip member initialisers: name(...) or name{...}, separated by
                                // commas
        for (++i; i < end; ++i) {
          if (at(i).isOneOf(tok::l_paren, tok::l_square))
            i = closing(i, end);
          else if (at(i).is(tok::semi))
            return i + 1;  // a bit field
          else if (at(i).is(tok::l_brace)) {
            bool is_body = at(i - 1).isOneOf(tok::r_paren, tok::r_brace);
            i = closing(i, end);
            if (is_body) return std::min(i + 1, end);
          }
        }
        return end;
      case Kind::kBody: {
        size_t close = closing(i, end);
        if (!(head.is_class || head.is_enum) || head.has_parameters)
          return std::min(close + 1, end);
        for (i = close; i < end && !at(i).is(tok::semi); ++i) {
        }  // struct S {...} x, y;
        return std::min(i + 1, end);
      }
      case Kind::kNone: break;
    }
    return end;
  }

  void scan_scope(size_t i, size_t end, SeenMap& seen) {
    while (i < end) {
      if (at(i).isOneOf(tok::semi, tok::r_brace) || at(i).isAnnotation()) {
        ++i;
        continue;
      }
      if (at(i).isOneOf(tok::kw_public, tok::kw_private, tok::kw_protected) &&
          is(i + 1, tok::colon)) {
        i += 2;
        continue;
      }
      Head head = scan_head(i, end);
      if (head.kind == Kind::kNone) return;
      size_t next = declaration_end(head, end);
      scan_declaration(head, next, seen);
      i = std::max(next, i + 1);
    }
  }

  void scan_declaration(const Head& head, size_t next, SeenMap& seen) {
    bool braces = head.kind == Kind::kBody;
    if (braces && !head.has_parameters && head.is_namespace) {
      std::string name = word(head.stop - 1) == "namespace" ? "" : word(head.stop - 1).str();
      scope_.push_back(name);
      std::string path;
      for (const std::string& part : scope_) path += part + "::";
      scan_scope(head.stop + 1, closing(head.stop, next), seen_[path]);
      scope_.pop_back();
      return;
    }
    if (braces && !head.has_parameters && head.is_linkage) {
      scan_scope(head.stop + 1, closing(head.stop, next), seen);
      return;
    }
    if (head.is_instantiation && !head.host_name.empty()) {
      add_instantiation(head, next);
      return;
    }
    if (head.kind == Kind::kDeclaration && !head.constants.empty() && !head.has_parameters) {
      add_constants(head, next);
      return;
    }
    bool defaulted = head.kind == Kind::kInitialised && head.has_parameters &&
                     is(head.stop + 2, tok::semi) &&
                     at(head.stop + 1).isOneOf(tok::kw_default, tok::kw_delete);
    if (!braces && !defaulted && head.kind != Kind::kConstructor) {
      if (head.has_parameters && head.kind == Kind::kDeclaration && head.uses_address_space)
        prototypes_.push_back({&seen, head.signature, variant_of(head, next)});
      return;
    }
    if (head.is_kernel && head.has_parameters)
      result_.kernels.insert(at(head.name).getLocation().getRawEncoding());
    if (add_overload(head, next, seen)) return;
    if (head.is_class && !head.has_parameters) {
      std::string outer = std::exchange(class_name_, name_of_class(head));
      SeenMap& members = class_members_.emplace_back();
      scan_scope(head.stop + 1, closing(head.stop, next), members);
      class_name_ = std::move(outer);
    } else if (head.is_kernel && head.has_parameters && !head.is_template) {
      std::string name = head.host_name.empty() ? word(head.name).str() : head.host_name;
      if (!kernels_.insert(name).second)
        report(at(head.name), clang::DiagnosticsEngine::Error,
               "two kernels are named '" + name + "'");
      add_entry(name, {head.name, head.name + 1}, word(head.name).str());
    }
  }

  void add_entry(std::string name, TokenRange callee, std::string base_name) {
    EntryPoint entry;
    entry.name = std::move(name);
    entry.callee.assign(tokens_.begin() + callee.begin, tokens_.begin() + callee.end);
    entry.scope = scope_;
    entry.base_name = std::move(base_name);
    entry.location = at(callee.begin).getLocation();
    result_.entry_points.push_back(std::move(entry));
  }

  // template [[host_name("x")]] [[kernel]] T k<args>(...);  or  ... decltype(k<args>) k<args>;
  void add_instantiation(const Head& head, size_t next) {
    result_.dropped.push_back({head.begin, next});
    size_t last = head.stop;  // one past the callee
    TokenRange parameters;
    if (last > head.begin && at(last - 1).is(tok::r_paren)) {
      parameters.end = last;
      int depth = 0;
      do {
        --last;
        if (at(last).is(tok::r_paren)) ++depth;
        if (at(last).is(tok::l_paren)) --depth;
      } while (depth > 0 && last > head.begin);
      parameters.begin = last;
    }
    size_t first = last - 1;
    int depth = 0;
    if (at(first).isOneOf(tok::greater, tok::greatergreater)) {
      for (;; --first) {
        if (at(first).is(tok::greater)) ++depth;
        if (at(first).is(tok::greatergreater)) depth += 2;
        if (at(first).is(tok::less) && --depth == 0) break;
        if (at(first).is(tok::r_paren)) first = opening(first, head.begin);
        if (first <= head.begin) return;
      }
      --first;
    }
    std::string base = word(first).str();
    while (first >= head.begin + 2 && at(first - 1).is(tok::coloncolon) &&
           at(first - 2).is(tok::identifier))
      first -= 2;
    add_entry(head.host_name, {first, last}, base);
    bool deduced = at(last - 1).is(tok::identifier);
    if (deduced) result_.entry_points.back().parameters = parameters;
  }

  size_t opening(size_t i, size_t begin) const {
    int depth = 0;
    for (;; --i) {
      if (at(i).is(tok::r_paren)) ++depth;
      if (at(i).is(tok::l_paren) && --depth == 0) return i;
      if (i <= begin) return begin;
    }
  }

  // constant int a [[function_constant(0)]], b [[function_constant(1)]];
  void add_constants(const Head& head, size_t next) {
    for (const Constant& found : head.constants) {
      FunctionConstantDecl constant;
      constant.name = word(found.name).str();
      constant.name_token = found.name;
      constant.declaration = {head.begin, next};
      constant.type = {head.begin, head.constants.front().name};
      constant.index = found.index;
      result_.constants.push_back(std::move(constant));
    }
  }

  void find_optional_constants() {
    std::set<std::string> asked;
    for (size_t i = 0; i + 2 < tokens_.size(); ++i)
      if (word(i) == "is_function_constant_defined") asked.insert(word(i + 2).str());
    for (FunctionConstantDecl& constant : result_.constants)
      constant.optional = asked.count(constant.name) > 0;
  }

  std::string name_of_class(const Head& head) const {
    for (size_t i = head.begin; i < head.stop; ++i) {
      if (!at(i).isOneOf(tok::kw_struct, tok::kw_class, tok::kw_union)) continue;
      if (is(i + 1, tok::identifier) && !(i > head.begin && at(i - 1).is(tok::less)))
        return word(i + 1).str();
    }
    return {};
  }

  Variant variant_of(const Head& head, size_t next) const {
    Variant variant;
    variant.declaration = {head.begin, next};
    variant.body = {head.stop, next};
    variant.name = head.name;
    variant.parameter_list = head.parameters;
    for (TokenRange parameter : split_parameters(tokens_, head.parameters))
      variant.parameters.push_back(outermost_space(tokens_, parameter.begin, parameter.end));
    variant.object = head.object;
    if (!class_name_.empty() && head.object == Space::kUnknown) variant.object = Space::kThread;
    variant.result = outermost_space(tokens_, head.begin, head.name);
    return variant;
  }

  // Puts a definition beside the others that differ from it in nothing but address spaces. False
  // for the first one, and for what C++ refuses anyway.
  bool add_overload(const Head& head, size_t next, SeenMap& seen) {
    auto [position, fresh] = seen.try_emplace(head.signature, overloads_.size());
    if (fresh) {
      OverloadSet& set = overloads_.emplace_back();
      set.variants.push_back(variant_of(head, next));
      set.uses_address_space = head.uses_address_space;
      set.is_function = head.has_parameters;
      bool is_operator = false;
      for (size_t i = head.begin; i < head.name; ++i) is_operator |= at(i).is(tok::kw_operator);
      set.has_name = set.is_function && !is_operator && at(head.name).is(tok::identifier);
      set.is_constructor = set.has_name && word(head.name) == class_name_;
      return false;
    }
    OverloadSet& set = overloads_[position->second];
    if (!head.uses_address_space && !set.uses_address_space) return false;
    Variant variant = variant_of(head, next);
    for (Variant* each : {&set.variants[0], &variant})
      if (each->text.empty()) each->text = text_of(each->parameter_list) + text_of(each->body);
    for (const Variant& other : set.variants)
      if (other.has_spaces_of(variant) && other.text != variant.text) return false;
    set.variants.push_back(std::move(variant));
    return true;
  }

  // Overloads with the same body become one; the others stay, under names of their own.
  void settle_overloads() {
    mark_distinct(tokens_, overloads_);
    for (OverloadSet& set : overloads_) {
      if (set.variants.size() < 2) continue;
      if (set.distinct && !set.has_name) {
        report(at(set.variants[1].declaration.begin), clang::DiagnosticsEngine::Error,
               str(set.is_function ? "operators" : "classes",
                   " that differ only in address space must have the same body"));
        report(at(set.variants[0].declaration.begin), clang::DiagnosticsEngine::Note,
               "first overload is here");
      }
      if (!set.distinct)
        for (size_t i = 1; i < set.variants.size(); ++i)
          result_.dropped.push_back(set.variants[i].declaration);
      if (set.is_function) result_.overloads.add(tokens_, set);
    }
    for (const Prototype& prototype : prototypes_)
      if (auto found = prototype.seen->find(prototype.signature); found != prototype.seen->end())
        result_.overloads.add_prototype(tokens_, overloads_[found->second], prototype.variant);
  }

  void report(const Token& token, clang::DiagnosticsEngine::Level level,
              const std::string& message) {
    auto& diagnostics = preprocessor_.getDiagnostics();
    diagnostics.Report(token.getLocation(), diagnostics.getCustomDiagID(level, "%0")) << message;
  }

  std::string text_of(TokenRange range) const {
    Head text;
    append_range(range, text);
    return text.signature;
  }

  struct Prototype {
    const SeenMap* seen;
    std::string signature;
    Variant variant;
  };

  clang::Preprocessor& preprocessor_;
  const std::vector<Token>& tokens_;
  std::map<std::string, SeenMap> seen_;  // by namespace
  std::list<SeenMap> class_members_;
  std::vector<OverloadSet> overloads_;  // every function, most of them alone
  std::vector<Prototype> prototypes_;
  std::string class_name_;  // of the class being scanned
  std::vector<std::string> scope_;
  std::set<std::string> kernels_;  // names of plain kernels so far
  ScanResult result_;
};

}  // namespace

ScanResult scan(clang::Preprocessor& preprocessor, const std::vector<Token>& tokens) {
  return Scanner(preprocessor, tokens).run();
}

}  // namespace mlxn::msl
