#include <algorithm>
#include <charconv>

#include "mlxn/base/strings.h"
#include "mlxn/text/template/internal/template_parser.h"

namespace mlxn::text::detail {

using Kind = Expression::Kind;

Error ExpressionParser::fail(std::string_view message) const {
  return template_error(ErrorCode::kInvalidArgument, current().at,
                        str(message, ", found ", describe_current()));
}

Error ExpressionParser::unsupported(Position at, std::string_view what) const {
  return template_error(ErrorCode::kUnsupported, at, str(what, " is not supported"));
}

std::string ExpressionParser::describe_current() const {
  switch (current().kind) {
    case Token::Kind::kText: return "text";
    case Token::Kind::kBlockBegin: return "'{%'";
    case Token::Kind::kBlockEnd: return "'%}'";
    case Token::Kind::kOutputBegin: return "'{{'";
    case Token::Kind::kOutputEnd: return "'}}'";
    case Token::Kind::kString: return "a string";
    case Token::Kind::kEnd: return "the end of the template";
    default: return str("'", current().text, "'");
  }
}

Status ExpressionParser::expect_operator(std::string_view text) {
  if (take_operator(text)) return {};
  return fail(str("expected '", text, "'"));
}

Result<std::string> ExpressionParser::expect_name(std::string_view what) {
  if (current().kind != Token::Kind::kName) return fail(str("expected ", what));
  std::string name = current().text;
  skip();
  return name;
}

Status ExpressionParser::Nesting::check() const {
  if (parser_.nesting_ <= parser_.max_height_) return {};
  return template_error(ErrorCode::kOutOfRange, parser_.current().at,
                        str("nested deeper than ", parser_.max_height_));
}

ExpressionPtr ExpressionParser::make(Kind kind, Position at, std::string text) const {
  return std::make_unique<Expression>(Expression{.kind = kind, .at = at, .text = std::move(text)});
}

Result<ExpressionPtr> ExpressionParser::finish(ExpressionPtr node) const {
  uint32_t inner = 0;
  const auto add = [&](const ExpressionPtr& child) {
    if (child) inner = std::max(inner, child->height);
  };
  for (const auto& child : node->children) add(child);
  for (const auto& child : node->arguments) add(child);
  for (const auto& [name, child] : node->named) add(child);
  node->height = inner + 1;
  if (node->height > max_height_)
    return template_error(ErrorCode::kOutOfRange, node->at,
                          str("nested deeper than ", max_height_));
  return node;
}

Result<ExpressionPtr> ExpressionParser::join(Kind kind, std::string text, ExpressionPtr left,
                                             ExpressionPtr right) {
  ExpressionPtr node = make(kind, left->at, std::move(text));
  node->children.push_back(std::move(left));
  node->children.push_back(std::move(right));
  return finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::parse_tuple(bool conditional) {
  const Position at = current().at;
  MLXN_ASSIGN(ExpressionPtr first, parse_expression(conditional));
  if (!at_operator(",")) return first;
  ExpressionPtr node = make(Kind::kTuple, at);
  node->children.push_back(std::move(first));
  while (take_operator(",")) {
    if (current().kind == Token::Kind::kBlockEnd || current().kind == Token::Kind::kOutputEnd ||
        at_operator(")"))
      break;
    MLXN_ASSIGN(ExpressionPtr next, parse_expression(conditional));
    node->children.push_back(std::move(next));
  }
  return finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::parse_expression(bool conditional) {
  const Nesting nesting(*this);
  MLXN_TRY(nesting.check());
  MLXN_ASSIGN(ExpressionPtr value, parse_or());
  while (conditional && take_name("if")) {
    ExpressionPtr node = make(Kind::kConditional, value->at);
    MLXN_ASSIGN(ExpressionPtr condition, parse_or());
    ExpressionPtr otherwise;
    if (take_name("else")) {
      MLXN_ASSIGN(otherwise, parse_expression());
    }
    node->children.push_back(std::move(value));
    node->children.push_back(std::move(condition));
    node->children.push_back(std::move(otherwise));
    MLXN_ASSIGN(value, finish(std::move(node)));
  }
  return value;
}

Result<ExpressionPtr> ExpressionParser::parse_or() {
  MLXN_ASSIGN(ExpressionPtr left, parse_and());
  while (take_name("or")) {
    MLXN_ASSIGN(ExpressionPtr right, parse_and());
    MLXN_ASSIGN(left, join(Kind::kOr, "", std::move(left), std::move(right)));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::parse_and() {
  MLXN_ASSIGN(ExpressionPtr left, parse_not());
  while (take_name("and")) {
    MLXN_ASSIGN(ExpressionPtr right, parse_not());
    MLXN_ASSIGN(left, join(Kind::kAnd, "", std::move(left), std::move(right)));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::parse_not() {
  const Position at = current().at;
  if (!take_name("not")) return parse_compare();
  const Nesting nesting(*this);
  MLXN_TRY(nesting.check());
  ExpressionPtr node = make(Kind::kNot, at);
  MLXN_ASSIGN(ExpressionPtr inner, parse_not());
  node->children.push_back(std::move(inner));
  return finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::parse_compare() {
  MLXN_ASSIGN(ExpressionPtr first, parse_sum());
  ExpressionPtr node = make(Kind::kCompare, first->at);
  node->children.push_back(std::move(first));
  while (true) {
    std::string name;
    for (std::string_view one : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (name.empty() && take_operator(one)) name = one;
    }
    if (name.empty() && take_name("in")) name = "in";
    if (name.empty() && at_name("not") && following().kind == Token::Kind::kName &&
        following().text == "in") {
      skip();
      skip();
      name = "not in";
    }
    if (name.empty()) break;
    MLXN_ASSIGN(ExpressionPtr next, parse_sum());
    node->names.push_back(std::move(name));
    node->children.push_back(std::move(next));
  }
  if (node->names.empty()) return std::move(node->children[0]);
  return finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::parse_chain(
    Parsed (ExpressionParser::*inner)(), std::initializer_list<std::string_view> operators) {
  MLXN_ASSIGN(ExpressionPtr left, (this->*inner)());
  while (true) {
    const auto found = std::find_if(operators.begin(), operators.end(),
                                    [&](std::string_view one) { return at_operator(one); });
    if (found == operators.end()) return left;
    skip();
    MLXN_ASSIGN(ExpressionPtr right, (this->*inner)());
    MLXN_ASSIGN(left,
                join(Kind::kArithmetic, std::string(*found), std::move(left), std::move(right)));
  }
}

Result<ExpressionPtr> ExpressionParser::parse_sum() {
  return parse_chain(&ExpressionParser::parse_concat, {"+", "-"});
}
Result<ExpressionPtr> ExpressionParser::parse_product() {
  return parse_chain(&ExpressionParser::parse_power, {"*", "/", "//", "%"});
}

Result<ExpressionPtr> ExpressionParser::parse_concat() {
  MLXN_ASSIGN(ExpressionPtr first, parse_product());
  if (!at_operator("~")) return first;
  ExpressionPtr node = make(Kind::kConcat, first->at);
  node->children.push_back(std::move(first));
  while (take_operator("~")) {
    MLXN_ASSIGN(ExpressionPtr next, parse_product());
    node->children.push_back(std::move(next));
  }
  return finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::parse_power() {
  MLXN_ASSIGN(ExpressionPtr left, parse_unary(true));
  while (take_operator("**")) {
    MLXN_ASSIGN(ExpressionPtr right, parse_unary(true));
    MLXN_ASSIGN(left, join(Kind::kArithmetic, "**", std::move(left), std::move(right)));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::parse_unary(bool with_filters) {
  const Nesting nesting(*this);
  MLXN_TRY(nesting.check());
  const Position at = current().at;
  ExpressionPtr node;
  if (take_operator("-")) {
    MLXN_ASSIGN(ExpressionPtr inner, parse_unary(false));
    node = make(Kind::kNegate, at);
    node->children.push_back(std::move(inner));
    MLXN_ASSIGN(node, finish(std::move(node)));
  } else if (take_operator("+")) {
    MLXN_ASSIGN(node, parse_unary(false));
  } else {
    MLXN_ASSIGN(node, parse_primary());
  }
  MLXN_ASSIGN(node, parse_postfix(std::move(node)));
  if (!with_filters) return node;
  return parse_filters_and_tests(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::parse_primary() {
  const Token& token = current();
  if (token.kind == Token::Kind::kName) {
    ExpressionPtr node = make(Kind::kLiteral, token.at);
    if (token.text == "true" || token.text == "True") {
      node->value = Value(true);
    } else if (token.text == "false" || token.text == "False") {
      node->value = Value(false);
    } else if (token.text != "none" && token.text != "None") {
      node = make(Kind::kName, token.at, token.text);
    }
    skip();
    return node;
  }
  if (token.kind == Token::Kind::kString) {
    ExpressionPtr node = make(Kind::kLiteral, token.at);
    std::string text;
    for (; current().kind == Token::Kind::kString; skip()) text += current().text;
    node->value = Value(std::move(text));
    return node;
  }
  if (token.kind == Token::Kind::kInteger || token.kind == Token::Kind::kFloat)
    return parse_number();
  if (at_operator("(")) return parse_parenthesis();
  if (at_operator("[")) return parse_list();
  if (at_operator("{")) return parse_dict();
  return fail("expected a value");
}

Result<ExpressionPtr> ExpressionParser::parse_number() {
  const Token& token = current();
  ExpressionPtr node = make(Kind::kLiteral, token.at);
  const char* first = token.text.data();
  const char* last = first + token.text.size();
  int64_t integer = 0;
  double number = 0;
  const bool whole = token.kind == Token::Kind::kInteger;
  const auto done =
      whole ? std::from_chars(first, last, integer) : std::from_chars(first, last, number);
  if (done.ec != std::errc() || done.ptr != last)
    return template_error(ErrorCode::kUnsupported, token.at,
                          str("number ", token.text, " is out of range"));
  node->value = whole ? Value(integer) : Value(number);
  skip();
  return node;
}

Result<ExpressionPtr> ExpressionParser::parse_parenthesis() {
  const Position at = current().at;
  skip();
  if (take_operator(")")) return finish(make(Kind::kTuple, at));
  MLXN_ASSIGN(ExpressionPtr node, parse_tuple(true));
  MLXN_TRY(expect_operator(")"));
  return node;
}

Result<ExpressionPtr> ExpressionParser::parse_list() {
  ExpressionPtr node = make(Kind::kList, current().at);
  skip();
  while (!at_operator("]")) {
    MLXN_ASSIGN(ExpressionPtr item, parse_expression());
    node->children.push_back(std::move(item));
    if (!take_operator(",")) break;
  }
  MLXN_TRY(expect_operator("]"));
  return finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::parse_dict() {
  ExpressionPtr node = make(Kind::kDict, current().at);
  skip();
  while (!at_operator("}")) {
    MLXN_ASSIGN(ExpressionPtr name, parse_expression());
    MLXN_TRY(expect_operator(":"));
    MLXN_ASSIGN(ExpressionPtr value, parse_expression());
    node->children.push_back(std::move(name));
    node->children.push_back(std::move(value));
    if (!take_operator(",")) break;
  }
  MLXN_TRY(expect_operator("}"));
  return finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::parse_postfix(ExpressionPtr node) {
  while (true) {
    if (at_operator(".")) {
      MLXN_ASSIGN(node, parse_attribute(std::move(node)));
    } else if (at_operator("[")) {
      MLXN_ASSIGN(node, parse_subscript(std::move(node)));
    } else if (at_operator("(")) {
      ExpressionPtr call = make(Kind::kCall, node->at);
      call->children.push_back(std::move(node));
      MLXN_TRY(parse_arguments(*call));
      MLXN_ASSIGN(node, finish(std::move(call)));
    } else {
      return node;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::parse_attribute(ExpressionPtr node) {
  skip();
  const Position at = current().at;
  if (current().kind == Token::Kind::kInteger) {
    MLXN_ASSIGN(ExpressionPtr index, parse_number());
    return join(Kind::kItem, "", std::move(node), std::move(index));
  }
  MLXN_ASSIGN(std::string name, expect_name("the name of an attribute"));
  ExpressionPtr out = make(Kind::kAttribute, at, std::move(name));
  out->children.push_back(std::move(node));
  return finish(std::move(out));
}

Result<ExpressionPtr> ExpressionParser::parse_subscript(ExpressionPtr node) {
  const Position at = current().at;
  skip();
  std::vector<ExpressionPtr> parts(1);
  while (!at_operator("]")) {
    if (take_operator(":")) {
      if (parts.size() == 3) return fail("expected ']'");
      parts.emplace_back();
      continue;
    }
    if (parts.back()) {
      if (at_operator(",")) return unsupported(current().at, "an index of several values");
      return fail("expected ']'");
    }
    MLXN_ASSIGN(parts.back(), parse_expression());
  }
  skip();
  if (parts.size() == 1 && !parts[0]) return fail("expected an index before ']'");
  ExpressionPtr out = make(parts.size() == 1 ? Kind::kItem : Kind::kSlice, at);
  if (parts.size() > 1) parts.resize(3);
  out->children.push_back(std::move(node));
  for (ExpressionPtr& part : parts) out->children.push_back(std::move(part));
  return finish(std::move(out));
}

Result<ExpressionPtr> ExpressionParser::parse_filters_and_tests(ExpressionPtr node) {
  while (true) {
    if (at_operator("|")) {
      MLXN_ASSIGN(node, parse_filter(std::move(node)));
    } else if (at_name("is")) {
      MLXN_ASSIGN(node, parse_test(std::move(node)));
    } else if (at_operator("(")) {
      MLXN_ASSIGN(node, parse_postfix(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::parse_filters(ExpressionPtr inner) {
  while (at_operator("|")) {
    MLXN_ASSIGN(inner, parse_filter(std::move(inner)));
  }
  return inner;
}

Result<ExpressionPtr> ExpressionParser::parse_filter_chain() {
  MLXN_ASSIGN(ExpressionPtr first, parse_filter(nullptr));
  return parse_filters(std::move(first));
}

Result<ExpressionPtr> ExpressionParser::parse_filter(ExpressionPtr node) {
  if (at_operator("|")) skip();
  const Position at = current().at;
  MLXN_ASSIGN(std::string name, expect_name("the name of a filter"));
  ExpressionPtr out = make(Kind::kFilter, at, std::move(name));
  out->children.push_back(std::move(node));
  if (at_operator("(")) MLXN_TRY(parse_arguments(*out));
  return finish(std::move(out));
}

Result<ExpressionPtr> ExpressionParser::parse_test(ExpressionPtr node) {
  skip();
  const Position at = current().at;
  const bool negated = take_name("not");
  MLXN_ASSIGN(std::string name, expect_name("the name of a test"));
  ExpressionPtr out = make(Kind::kTest, at, std::move(name));
  out->children.push_back(std::move(node));
  const Token::Kind next = current().kind;
  const bool is_word = next == Token::Kind::kName && !at_name("else") && !at_name("or") &&
                       !at_name("and") && !at_name("if") && !at_name("is") && !at_name("in") &&
                       !at_name("not");
  if (at_operator("(")) {
    MLXN_TRY(parse_arguments(*out));
  } else if (is_word || next == Token::Kind::kString || next == Token::Kind::kInteger ||
             next == Token::Kind::kFloat || at_operator("[") || at_operator("{")) {
    MLXN_ASSIGN(ExpressionPtr argument, parse_primary());
    MLXN_ASSIGN(argument, parse_postfix(std::move(argument)));
    out->arguments.push_back(std::move(argument));
  }
  MLXN_ASSIGN(out, finish(std::move(out)));
  if (!negated) return out;
  ExpressionPtr inverted = make(Kind::kNot, at);
  inverted->children.push_back(std::move(out));
  return finish(std::move(inverted));
}

Status ExpressionParser::parse_arguments(Expression& call) {
  skip();
  while (!at_operator(")")) {
    if (at_operator("*") || at_operator("**"))
      return unsupported(current().at, "passing a list of arguments");
    if (current().kind == Token::Kind::kName && following().kind == Token::Kind::kOperator &&
        following().text == "=") {
      std::string name = current().text;
      skip();
      skip();
      MLXN_ASSIGN(ExpressionPtr value, parse_expression());
      call.named.emplace_back(std::move(name), std::move(value));
    } else {
      if (!call.named.empty()) return fail("expected name=value after the first such argument");
      MLXN_ASSIGN(ExpressionPtr value, parse_expression());
      call.arguments.push_back(std::move(value));
    }
    if (!take_operator(",")) break;
  }
  return expect_operator(")");
}

}  // namespace mlxn::text::detail
