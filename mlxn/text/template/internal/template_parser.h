// Recursive descent over the words of a template. Expressions and statements lie in separate files.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "mlxn/text/template/internal/template_ast.h"

namespace mlxn::text::detail {

class ExpressionParser {
 public:
  ExpressionParser(std::vector<Token> tokens, uint32_t max_height)
      : tokens_(std::move(tokens)), max_height_(max_height) {}

 protected:
  using Parsed = Result<ExpressionPtr>;

  // With `conditional` false, "a if b" ends before the if.
  Parsed parse_expression(bool conditional = true);
  // The same, or several separated by commas, which make a tuple.
  Parsed parse_tuple(bool conditional);
  // Filters after `inner`, which may be null: each with its "|".
  Parsed parse_filters(ExpressionPtr inner);
  // The same without "|" before the first.
  Parsed parse_filter_chain();

  const Token& current() const { return tokens_[next_]; }
  const Token& following() const { return tokens_[std::min(next_ + 1, tokens_.size() - 1)]; }
  void skip() { next_ = std::min(next_ + 1, tokens_.size() - 1); }
  bool at_operator(std::string_view text) const { return is(Token::Kind::kOperator, text); }
  bool at_name(std::string_view text) const { return is(Token::Kind::kName, text); }
  bool take_operator(std::string_view text) { return take(Token::Kind::kOperator, text); }
  bool take_name(std::string_view text) { return take(Token::Kind::kName, text); }
  Status expect_operator(std::string_view text);
  Result<std::string> expect_name(std::string_view what);

  Error fail(std::string_view message) const;
  Error unsupported(Position at, std::string_view what) const;
  std::string describe_current() const;

  // Guards recursion; the height of what is built is checked by finish().
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser) : parser_(parser) { ++parser_.nesting_; }
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    Status check() const;

   private:
    ExpressionParser& parser_;
  };

 private:
  bool is(Token::Kind kind, std::string_view text) const {
    return current().kind == kind && current().text == text;
  }
  bool take(Token::Kind kind, std::string_view text) {
    if (!is(kind, text)) return false;
    skip();
    return true;
  }
  ExpressionPtr make(Expression::Kind kind, Position at, std::string text = {}) const;
  // Works out the height and checks it.
  Parsed finish(ExpressionPtr node) const;
  Parsed join(Expression::Kind kind, std::string text, ExpressionPtr left, ExpressionPtr right);

  Parsed parse_or();
  Parsed parse_and();
  Parsed parse_not();
  Parsed parse_compare();
  Parsed parse_sum();
  Parsed parse_concat();
  Parsed parse_product();
  Parsed parse_power();
  Parsed parse_unary(bool with_filters);
  Parsed parse_primary();
  Parsed parse_number();
  Parsed parse_parenthesis();
  Parsed parse_list();
  Parsed parse_dict();
  Parsed parse_postfix(ExpressionPtr node);
  Parsed parse_attribute(ExpressionPtr node);
  Parsed parse_subscript(ExpressionPtr node);
  Parsed parse_filters_and_tests(ExpressionPtr node);
  Parsed parse_filter(ExpressionPtr node);
  Parsed parse_test(ExpressionPtr node);
  Status parse_arguments(Expression& call);
  // A chain of operators of one rank, from left to right.
  Parsed parse_chain(Parsed (ExpressionParser::*inner)(),
                     std::initializer_list<std::string_view> operators);

  std::vector<Token> tokens_;
  size_t next_ = 0;
  uint32_t nesting_ = 0;
  uint32_t max_height_;
};

}  // namespace mlxn::text::detail
