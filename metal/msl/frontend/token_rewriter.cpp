#include "metal/msl/frontend/token_rewriter.h"

#include "clang/Lex/Lexer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace mlxn::msl {

using clang::SourceLocation;
using clang::Token;
namespace tok = clang::tok;

bool is_msl_attribute(llvm::StringRef name) {
  static const llvm::StringSet<> names = {"buffer",
                                          "threadgroup",
                                          "host_name",
                                          "kernel",
                                          "function_constant",
                                          "id",
                                          "texture",
                                          "sampler",
                                          "max_total_threads_per_threadgroup",
                                          "required_threads_per_threadgroup",
                                          "thread_position_in_grid",
                                          "threadgroup_position_in_grid",
                                          "thread_index_in_threadgroup",
                                          "threads_per_threadgroup",
                                          "thread_position_in_threadgroup",
                                          "thread_index_in_simdgroup",
                                          "simdgroup_index_in_threadgroup",
                                          "threads_per_grid",
                                          "threadgroups_per_grid",
                                          "simdgroups_per_threadgroup",
                                          "threads_per_simdgroup",
                                          "thread_execution_width",
                                          "thread_index_in_quadgroup",
                                          "quadgroup_index_in_threadgroup",
                                          "quadgroups_per_threadgroup",
                                          "dispatch_threads_per_threadgroup",
                                          "dispatch_simdgroups_per_threadgroup",
                                          "dispatch_quadgroups_per_threadgroup",
                                          "grid_origin",
                                          "grid_size",
                                          "stage_in",
                                          "raster_order_group",
                                          "visible",
                                          "object",
                                          "mesh",
                                          "payload",
                                          "patch",
                                          "intersection",
                                          "amplification_id",
                                          "amplification_count",
                                          "early_fragment_tests",
                                          "depth",
                                          "stencil",
                                          "clip_distance",
                                          "point_size",
                                          "point_coord",
                                          "front_facing",
                                          "primitive_id",
                                          "sample_id",
                                          "sample_mask",
                                          "vertex_id",
                                          "instance_id",
                                          "base_vertex",
                                          "base_instance",
                                          "attribute",
                                          "invariant",
                                          "center_perspective",
                                          "center_no_perspective",
                                          "centroid_perspective",
                                          "visible",
                                          "stitchable",
                                          "vertex",
                                          "fragment",
                                          "position",
                                          "user",
                                          "color",
                                          "flat"};
  return names.contains(name);
}

namespace {

class Rewriter {
 public:
  Rewriter(clang::Preprocessor& preprocessor, const std::vector<Token>& tokens,
           const ScanResult& scan, const RewriteOptions& options)
      : preprocessor_(preprocessor), in_(tokens), scan_(scan), options_(options) {
    for (const FunctionConstantDecl& constant : scan.constants) {
      constants_.emplace(constant.declaration.begin, &constant);
      has_unset_ |= !options.constant_values.count(constant.name);
    }
  }

  std::vector<Token> run() {
    out_.reserve(in_.size() * 5 / 4);
    if (scan_.overloads.need_choice())
      for (const Token& token :
           lex_text(preprocessor_, "template <int> struct __msl_space_tag {};", "<spaces>"))
        out_.push_back(token);
    size_t dropped = 0;
    for (size_t i = 0; i < in_.size();) {
      if (dropped < scan_.dropped.size() && i >= scan_.dropped[dropped].begin) {
        i = std::max(i, scan_.dropped[dropped++].end);
        continue;
      }
      if (auto [constant, last] = constants_.equal_range(i); constant != last) {
        i = constant->second->declaration.end;
        for (; constant != last; ++constant) emit_constant(*constant->second);
        continue;
      }
      i = rewrite_at(i);
    }
    return std::move(out_);
  }

 private:
  bool is(size_t i, tok::TokenKind kind) const { return i < in_.size() && in_[i].is(kind); }
  llvm::StringRef word(size_t i) const {
    return i < in_.size() ? word_of(in_[i]) : llvm::StringRef();
  }

  // Rewrites the construct at `i` and returns the position after it.
  size_t rewrite_at(size_t i) {
    const Token& token = in_[i];
    if (token.isAnnotation()) {
      // A loop hint may count by a function constant, which is no constant expression without a
      // value.
      bool drop = token.is(tok::annot_pragma_loop_hint) && (options_.analysis || has_unset_);
      if (!drop) out_.push_back(token);
      return i + 1;
    }
    if (token.is(tok::l_square) && is(i + 1, tok::l_square) && is_msl_attribute(word(i + 2)))
      return rewrite_attributes(i);
    if (token.is(tok::l_square) && is(i + 1, tok::l_square)) check_attribute(i + 2);
    if (token.is(tok::numeric_constant)) {
      rewrite_number(token);
      return i + 1;
    }
    llvm::StringRef name = word(i);
    if (name.empty()) {
      if (token.isOneOf(tok::r_paren, tok::r_brace)) tag_constructor(i);
      out_.push_back(token);
      return i + 1;
    }
    if (unsigned variant = variant_named(i)) {
      push_word((name + "__msl_space" + llvm::Twine(variant)).str(), token.getLocation());
      return i + 1;
    }
    if (name == "kernel") {
      if (!is(i + 1, tok::l_paren)) push_word("inline", token.getLocation());
      return i + 1;
    }
    if (is_address_space(name)) return rewrite_address_space(i);
    if (name == "coherent" && is(i + 1, tok::l_paren))
      return closing(i + 1) + 1;  // coherent(system) device
    if (name == "static_cast") {
      push_word("__msl_static_cast", token.getLocation());
      return i + 1;
    }
    if (name == "is_function_constant_defined" && is(i + 1, tok::l_paren) &&
        is(i + 3, tok::r_paren)) {
      emit_is_defined(in_[i + 2], token.getLocation());
      return i + 4;
    }
    out_.push_back(token);
    return i + 1;
  }

  static unsigned choice_at(const std::map<unsigned, unsigned>& choices, const Token& token) {
    auto found = choices.find(token.getLocation().getRawEncoding());
    return found == choices.end() ? 0 : found->second;
  }

  // Number of the overload that the name at `i` declares or calls; 0 for all other names.
  unsigned variant_named(size_t i) const {
    if (!scan_.overloads.need_choice()) return 0;
    unsigned declared = scan_.overloads.renamed(i);
    return declared ? declared : choice_at(options_.choices.calls, in_[i]);
  }

  // Before the bracket that ends a constructor's parameters or arguments.
  void tag_constructor(size_t i) {
    if (!scan_.overloads.need_choice()) return;
    unsigned declared = scan_.overloads.tagged(i);
    unsigned called = declared ? 0 : choice_at(options_.choices.constructions, in_[i]);
    if (!declared && !called) return;
    bool first = i > 0 && in_[i - 1].isOneOf(tok::l_paren, tok::l_brace);
    std::string tag = llvm::Twine("__msl_space_tag<" + llvm::Twine(declared + called) + ">").str();
    for (const Token& token :
         lex_text(preprocessor_, (first ? "" : ",") + tag + (called ? "{}" : ""), "<spaces>"))
      out_.push_back(token);
  }

  size_t closing(size_t i) const { return closing_bracket(in_, i, in_.size()); }

  // Refuses an attribute neither MSL nor C++ knows; Clang alone would ignore it.
  void check_attribute(size_t i) {
    static const llvm::StringSet<> cpp = {"maybe_unused", "nodiscard",        "noreturn",
                                          "deprecated",   "fallthrough",      "likely",
                                          "unlikely",     "no_unique_address"};
    llvm::StringRef name = word(i);
    if (name.empty() || cpp.contains(name) || is(i + 1, tok::coloncolon)) return;
    auto& diagnostics = preprocessor_.getDiagnostics();
    unsigned id =
        diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, "unknown attribute '%0'");
    diagnostics.Report(in_[i].getLocation(), id) << name;
  }

  // MSL's literals: floating-point ones without a suffix are float, h means half, bf bfloat.
  void rewrite_number(const Token& token) {
    std::string text = preprocessor_.getSpelling(token);
    llvm::StringRef body = text;
    bool hexadecimal = body.starts_with_insensitive("0x");
    bool floating = hexadecimal ? body.find_insensitive("p") != llvm::StringRef::npos
                                : body.find_first_of(".eE") != llvm::StringRef::npos;
    bool may_have_suffix = floating || !hexadecimal;  // b and f are hexadecimal digits
    SourceLocation location = token.getLocation();
    if (may_have_suffix && body.consume_back_insensitive("bf")) {
      push(tok::l_paren, location);
      push(tok::l_paren, location);
      push_word("__bf16", location);
      push(tok::r_paren, location);
      push_number(body.str() + (floating ? "" : ".0"), location);
      push(tok::r_paren, location);
    } else if (may_have_suffix && body.consume_back_insensitive("h")) {
      push_number(body.str() + (floating ? "f16" : ".0f16"), location);
    } else if (floating && !llvm::isAlpha(body.back())) {
      push_number(body.str() + "f", location);
    } else {
      out_.push_back(token);
    }
  }

  void push_number(const std::string& text, SourceLocation location) {
    Token token;
    token.startToken();
    token.setKind(tok::numeric_constant);
    preprocessor_.CreateString(text, token, location, location);
    out_.push_back(token);
  }

  // [[a, b(x)]]: one annotation for each item.
  size_t rewrite_attributes(size_t i) {
    size_t close = closing(i);
    bool on_parameter = close + 1 < in_.size() &&
                        in_[close + 1].isOneOf(tok::comma, tok::r_paren, tok::l_square, tok::equal);
    for (size_t k = i + 2; k + 1 < close; ++k) {
      std::string name = word(k).str();
      if (name.empty()) continue;
      SourceLocation location = in_[k].getLocation();
      TokenRange argument;
      if (is(k + 1, tok::l_paren)) argument = {k + 2, closing(k + 1)};
      if (name == "kernel") {
        push_word("inline", location);
      } else if (name == "function_constant") {
        // An argument gated by a condition. While constants have no value the argument counts as
        // present.
        if (on_parameter) annotate("msl.enabled", location, argument, /*maybe_not_constant=*/true);
      } else if (name != "host_name" && name != "visible" && name != "stitchable") {
        annotate("msl." + name, location, argument, false);
      }
      if (argument.end) k = argument.end;
    }
    return close + 1;
  }

  size_t rewrite_address_space(size_t i) {
    llvm::StringRef name = word(i);
    SourceLocation location = in_[i].getLocation();
    if (is_trailing(i)) {
      bool constructor = is(i + 1, tok::colon) && !out_.empty() && out_.back().is(tok::kw_const);
      if (constructor) out_.pop_back();
      return i + 1;
    }
    if (name == "constant") push_word("const", location);
    if (qualifies_parameter(i) && (name == "device" || name == "constant" || name == "threadgroup"))
      annotate(("msl.space." + name).str(), location, {}, false);
    if (name == "threadgroup" && declares_storage(i))
      annotate("msl.threadgroup_storage", location, {}, false);
    return i + 1;
  }

  // An address space that qualifies a member function: f(...) const device {
  bool is_trailing(size_t i) const {
    if (i == 0 || i + 1 >= in_.size()) return false;
    size_t before = i - 1;
    if (in_[before].is(tok::kw_const) && before > 0) --before;
    bool after =
        in_[i + 1].isOneOf(tok::l_brace, tok::colon, tok::semi, tok::equal, tok::kw_const) ||
        in_[i + 1].is(tok::kw_noexcept);
    return in_[before].is(tok::r_paren) && after;
  }

  // Position of the last token before `i` that is no qualifier or attribute.
  size_t before_qualifiers(size_t i) const {
    for (; i > 0; --i) {
      if (i >= 4 && in_[i - 1].is(tok::r_paren) && word(i - 4) == "coherent")
        i -= 3;  // coherent(system)
      else if (!in_[i - 1].isOneOf(tok::kw_const, tok::kw_volatile, tok::kw_static,
                                   tok::kw_constexpr))
        break;
    }
    return i - 1;  // wraps to SIZE_MAX at the start
  }

  // device float* p, or float device* p: the address space of a parameter.
  bool qualifies_parameter(size_t i) const {
    size_t before = before_qualifiers(i);
    if (before >= in_.size()) return false;
    bool after_type =
        in_[before].isOneOf(tok::identifier, tok::greater, tok::kw_float, tok::kw_int, tok::kw_char,
                            tok::kw_short, tok::kw_long, tok::kw_bool, tok::kw_unsigned);
    return in_[before].isOneOf(tok::l_paren, tok::comma) ||
           (after_type && i + 1 < in_.size() && in_[i + 1].isOneOf(tok::star, tok::amp));
  }

  bool declares_storage(size_t i) const {
    size_t before = before_qualifiers(i);
    if (before >= in_.size() ||
        in_[before].isOneOf(tok::l_brace, tok::r_brace, tok::semi, tok::colon, tok::r_paren))
      return true;
    // float threadgroup x[8];
    return is(i + 1, tok::identifier) && i + 2 < in_.size() &&
           in_[i + 2].isOneOf(tok::l_square, tok::semi);
  }

  // Analysis keeps the name, ((void)x, true), so that the AST shows who depends on it.
  void emit_is_defined(const Token& constant, SourceLocation location) {
    if (!options_.analysis) {
      bool defined = options_.constant_values.count(word_of(constant).str()) > 0;
      return push_word(defined ? "true" : "false", location);
    }
    push(tok::l_paren, location);
    push(tok::l_paren, location);
    push_word("void", location);
    push(tok::r_paren, location);
    out_.push_back(constant);
    push(tok::comma, location);
    push_word("true", location);
    push(tok::r_paren, location);
  }

  void emit_constant(const FunctionConstantDecl& constant) {
    SourceLocation location = in_[constant.declaration.begin].getLocation();
    auto value = options_.constant_values.find(constant.name);
    bool set = value != options_.constant_values.end();
    if (set) {
      push_word("static", location);
      push_word("constexpr", location);
    } else {
      push_word("extern", location);
      push_word("const", location);
    }
    for (size_t i = constant.type.begin; i < constant.type.end; ++i) {
      bool storage =
          in_[i].isOneOf(tok::kw_static, tok::kw_constexpr, tok::kw_const, tok::kw_extern);
      if (!storage && word(i) != "constant") out_.push_back(in_[i]);
    }
    out_.push_back(in_[constant.name_token]);
    if (set) {
      push(tok::equal, location);
      for (const Token& token : lex_text(preprocessor_, value->second, "<function constant>"))
        out_.push_back(token);
    }
    push(tok::semi, location);
    if (!options_.analysis) return;
    for (const char* text : {"static", "constexpr", "unsigned"}) push_word(text, location);
    push_word("__msl_fc_index_" + constant.name, location);
    push(tok::equal, location);
    push(tok::l_paren, location);
    out_.insert(out_.end(), in_.begin() + constant.index.begin, in_.begin() + constant.index.end);
    push(tok::r_paren, location);
    push(tok::semi, location);
  }

  void push(tok::TokenKind kind, SourceLocation location) {
    Token token;
    token.startToken();
    token.setKind(kind);
    token.setLocation(location);
    token.setLength(1);
    out_.push_back(token);
  }

  void push_word(const std::string& text, SourceLocation location) {
    Token token;
    token.startToken();
    clang::IdentifierInfo* info = preprocessor_.getIdentifierInfo(text);
    token.setKind(info->getTokenID());
    token.setIdentifierInfo(info);
    token.setLocation(location);
    token.setLength(1);
    out_.push_back(token);
  }

  void annotate(const std::string& name, SourceLocation location, TokenRange argument,
                bool maybe_not_constant) {
    push_word("__attribute__", location);
    push(tok::l_paren, location);
    push(tok::l_paren, location);
    push_word("annotate", location);
    push(tok::l_paren, location);
    Token text;
    text.startToken();
    text.setKind(tok::string_literal);
    preprocessor_.CreateString("\"" + name + "\"", text, location, location);
    out_.push_back(text);
    if (argument.end) {
      push(tok::comma, location);
      auto copy = [&] {
        out_.insert(out_.end(), in_.begin() + argument.begin, in_.begin() + argument.end);
      };
      if (maybe_not_constant) {  // __builtin_constant_p(x) ? (x) : true
        push_word("__builtin_constant_p", location);
        push(tok::l_paren, location);
        copy();
        push(tok::r_paren, location);
        push(tok::question, location);
        push(tok::l_paren, location);
        copy();
        push(tok::r_paren, location);
        push(tok::colon, location);
        push_word("true", location);
      } else {
        copy();
      }
    }
    for (int i = 0; i < 3; ++i) push(tok::r_paren, location);
  }

  clang::Preprocessor& preprocessor_;
  const std::vector<Token>& in_;
  const ScanResult& scan_;
  const RewriteOptions& options_;
  std::multimap<size_t, const FunctionConstantDecl*> constants_;  // by where they begin
  bool has_unset_ = false;
  std::vector<Token> out_;
};

}  // namespace

std::vector<Token> rewrite(clang::Preprocessor& preprocessor, const std::vector<Token>& tokens,
                           const ScanResult& scan, const RewriteOptions& options) {
  return Rewriter(preprocessor, tokens, scan, options).run();
}

std::vector<Token> plain_parameters(clang::Preprocessor& preprocessor,
                                    const std::vector<Token>& tokens, TokenRange range) {
  std::vector<Token> result;
  for (size_t i = range.begin; i < range.end; ++i) {
    if (tokens[i].is(tok::l_square) && i + 1 < range.end && tokens[i + 1].is(tok::l_square)) {
      i = closing_bracket(tokens, i, range.end);
      continue;
    }
    Token token = tokens[i];
    llvm::StringRef word = word_of(token);
    if (word == "constant") {
      clang::IdentifierInfo* info = preprocessor.getIdentifierInfo("const");
      token.setKind(info->getTokenID());
      token.setIdentifierInfo(info);
    } else if (is_address_space(word)) {
      continue;
    }
    result.push_back(token);
  }
  return result;
}

std::vector<Token> lex_text(clang::Preprocessor& preprocessor, const std::string& text,
                            const std::string& name) {
  clang::SourceManager& sources = preprocessor.getSourceManager();
  clang::FileID file = sources.createFileID(llvm::MemoryBuffer::getMemBufferCopy(text, name));
  clang::Lexer lexer(file, sources.getBufferOrFake(file), sources, preprocessor.getLangOpts());
  std::vector<Token> tokens;
  for (;;) {
    Token token;
    lexer.LexFromRawLexer(token);
    if (token.is(tok::eof)) return tokens;
    if (token.is(tok::raw_identifier)) preprocessor.LookUpIdentifierInfo(token);
    tokens.push_back(token);
  }
}

}  // namespace mlxn::msl
