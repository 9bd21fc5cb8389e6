#include "mlxn/text/template/internal/template_parser.h"

#include <algorithm>

#include "mlxn/base/strings.h"

namespace mlxn::text::detail {
namespace {

using Kind = Statement::Kind;

class TemplateParser : private ExpressionParser {
 public:
  TemplateParser(std::vector<Token> tokens, uint32_t max_height)
      : ExpressionParser(std::move(tokens), max_height) {}

  Result<Body> run() {
    MLXN_ASSIGN(Body body, parse_body({}));
    if (current().kind != Token::Kind::kEnd) return fail("expected the end of the template");
    return body;
  }

 private:
  Status end_block() {
    if (current().kind != Token::Kind::kBlockEnd) return fail("expected '%}'");
    skip();
    return {};
  }

  // Statements up to a block that begins with one of `ends`, which is not passed. No ends: up to
  // the end of the template.
  Result<Body> parse_body(std::initializer_list<std::string_view> ends) {
    const Nesting nesting(*this);
    MLXN_TRY(nesting.check());
    const Position begin = current().at;
    Body body;
    while (current().kind != Token::Kind::kEnd) {
      if (current().kind == Token::Kind::kBlockBegin &&
          std::find(ends.begin(), ends.end(), following().text) != ends.end())
        return body;
      MLXN_TRY(parse_statement(body));
    }
    if (ends.size() == 0) return body;
    return template_error(ErrorCode::kInvalidArgument, begin,
                          str("no ", *(ends.end() - 1), " before the end of the template"));
  }

  Status parse_statement(Body& body) {
    Position at = current().at;
    if (current().kind == Token::Kind::kText) {
      body.push_back({.kind = Kind::kText, .at = at, .text = current().text});
      skip();
      return {};
    }
    const bool output = current().kind == Token::Kind::kOutputBegin;
    skip();
    at = current().at;
    if (output) {
      MLXN_ASSIGN(ExpressionPtr value, parse_tuple(true));
      if (current().kind != Token::Kind::kOutputEnd) return fail("expected '}}'");
      skip();
      body.push_back({.kind = Kind::kOutput, .at = at, .expression = std::move(value)});
      return {};
    }
    MLXN_ASSIGN(const std::string name, expect_name("the name of a block"));
    MLXN_ASSIGN(Statement statement, parse_block(name, at));
    body.push_back(std::move(statement));
    return {};
  }

  Result<Statement> parse_block(std::string_view name, Position at) {
    if (name == "if") return parse_if(at);
    if (name == "for") return parse_for(at);
    if (name == "set") return parse_set(at);
    if (name == "macro") return parse_macro(at);
    if (name == "filter") return parse_filter_block(at);
    if (name == "with") return parse_with(at);
    if (name == "generation") return parse_generation(at);
    if (name == "break" || name == "continue") {
      if (loops_ == 0)
        return template_error(ErrorCode::kInvalidArgument, at, str(name, " outside of a loop"));
      MLXN_TRY(end_block());
      return Statement{.kind = name == "break" ? Kind::kBreak : Kind::kContinue, .at = at};
    }
    constexpr std::string_view kStray[] = {"elif",     "else",      "endif",   "endfor", "endset",
                                           "endmacro", "endfilter", "endwith", "endraw"};
    if (std::find(std::begin(kStray), std::end(kStray), name) != std::end(kStray))
      return template_error(ErrorCode::kInvalidArgument, at, str(name, " ends nothing here"));
    return unsupported(at, str("block '", name, "'"));
  }

  Result<Statement> parse_if(Position at) {
    Statement out{.kind = Kind::kIf, .at = at};
    while (true) {
      MLXN_ASSIGN(ExpressionPtr condition, parse_tuple(false));
      MLXN_TRY(end_block());
      MLXN_ASSIGN(Body body, parse_body({"elif", "else", "endif"}));
      out.values.push_back(std::move(condition));
      out.bodies.push_back(std::move(body));
      skip();
      if (take_name("elif")) continue;
      if (take_name("else")) {
        MLXN_TRY(end_block());
        MLXN_ASSIGN(Body otherwise, parse_body({"endif"}));
        out.values.push_back(nullptr);
        out.bodies.push_back(std::move(otherwise));
        skip();
      }
      skip();  // endif
      MLXN_TRY(end_block());
      return out;
    }
  }

  Result<std::vector<std::string>> parse_targets() {
    std::vector<std::string> names;
    const bool parenthesis = take_operator("(");
    do {
      if (!names.empty() && current().kind != Token::Kind::kName) break;  // "a, ="
      MLXN_ASSIGN(std::string name, expect_name("the name of a variable"));
      names.push_back(std::move(name));
    } while (take_operator(","));
    if (parenthesis) MLXN_TRY(expect_operator(")"));
    return names;
  }

  Result<Statement> parse_for(Position at) {
    Statement out{.kind = Kind::kFor, .at = at};
    MLXN_ASSIGN(out.names, parse_targets());
    if (!take_name("in")) return fail("expected 'in'");
    MLXN_ASSIGN(out.expression, parse_tuple(false));
    if (take_name("if")) {
      MLXN_ASSIGN(out.condition, parse_expression());
    }
    if (at_name("recursive")) return unsupported(current().at, "a recursive loop");
    MLXN_TRY(end_block());
    ++loops_;
    MLXN_ASSIGN(out.body, parse_body({"else", "endfor"}));
    --loops_;
    skip();
    if (take_name("else")) {
      MLXN_TRY(end_block());
      MLXN_ASSIGN(out.otherwise, parse_body({"endfor"}));
      skip();
    }
    skip();  // endfor
    MLXN_TRY(end_block());
    return out;
  }

  Result<Statement> parse_set(Position at) {
    Statement out{.kind = Kind::kSet, .at = at};
    MLXN_ASSIGN(out.names, parse_targets());
    if (out.names.size() == 1 && take_operator(".")) {
      out.text = out.names[0];
      MLXN_ASSIGN(out.names[0], expect_name("the name of an attribute"));
    }
    if (take_operator("=")) {
      MLXN_ASSIGN(out.expression, parse_tuple(true));
      MLXN_TRY(end_block());
      return out;
    }
    if (out.names.size() > 1) return fail("expected '='");
    out.kind = Kind::kSetBlock;
    MLXN_ASSIGN(out.expression, parse_filters(nullptr));
    MLXN_TRY(end_block());
    MLXN_ASSIGN(out.body, parse_ended_body("endset"));
    return out;
  }

  // A body up to the block `end`, which is passed. A loop around it does not reach into it.
  Result<Body> parse_ended_body(std::string_view end, bool closed = true) {
    const uint32_t outer = loops_;
    if (closed) loops_ = 0;
    MLXN_ASSIGN(Body body, parse_body({end}));
    loops_ = outer;
    skip();
    skip();
    if (end == "endmacro" && current().kind == Token::Kind::kName) skip();  // its name, repeated
    MLXN_TRY(end_block());
    return body;
  }

  Result<Statement> parse_macro(Position at) {
    if (in_macro_ || loops_ > 0) return unsupported(at, "a macro inside a macro or a loop");
    Statement out{.kind = Kind::kMacro, .at = at};
    MLXN_ASSIGN(out.text, expect_name("the name of a macro"));
    MLXN_TRY(expect_operator("("));
    while (!at_operator(")")) {
      MLXN_ASSIGN(std::string name, expect_name("the name of an argument"));
      ExpressionPtr fallback;
      if (take_operator("=")) {
        MLXN_ASSIGN(fallback, parse_expression());
      } else if (!out.values.empty() && out.values.back()) {
        return fail("expected a default, as the argument before has one");
      }
      out.names.push_back(std::move(name));
      out.values.push_back(std::move(fallback));
      if (!take_operator(",")) break;
    }
    MLXN_TRY(expect_operator(")"));
    MLXN_TRY(end_block());
    in_macro_ = true;
    MLXN_ASSIGN(out.body, parse_ended_body("endmacro"));
    in_macro_ = false;
    return out;
  }

  Result<Statement> parse_filter_block(Position at) {
    Statement out{.kind = Kind::kFilterBlock, .at = at};
    MLXN_ASSIGN(out.expression, parse_filter_chain());
    MLXN_TRY(end_block());
    MLXN_ASSIGN(out.body, parse_ended_body("endfilter"));
    return out;
  }

  Result<Statement> parse_with(Position at) {
    Statement out{.kind = Kind::kWith, .at = at};
    while (current().kind == Token::Kind::kName) {
      MLXN_ASSIGN(std::string name, expect_name("the name of a variable"));
      MLXN_TRY(expect_operator("="));
      MLXN_ASSIGN(ExpressionPtr value, parse_expression());
      out.names.push_back(std::move(name));
      out.values.push_back(std::move(value));
      if (!take_operator(",")) break;
    }
    MLXN_TRY(end_block());
    MLXN_ASSIGN(out.body, parse_ended_body("endwith", false));
    return out;
  }

  // Marks text that a model is trained on; it prints its body.
  Result<Statement> parse_generation(Position at) {
    Statement out{.kind = Kind::kScope, .at = at};
    MLXN_TRY(end_block());
    MLXN_ASSIGN(out.body, parse_ended_body("endgeneration", false));
    return out;
  }

  uint32_t loops_ = 0;
  bool in_macro_ = false;
};

}  // namespace

Result<std::unique_ptr<TemplateProgram>> parse_template(std::string_view source,
                                                        const TemplateLimits& limits) {
  if (source.size() > limits.source_bytes)
    return Error(ErrorCode::kOutOfRange, str("template of ", source.size(),
                                             " bytes, expected at most ", limits.source_bytes));
  MLXN_ASSIGN(std::vector<Token> tokens, lex_template(source));
  auto program = std::make_unique<TemplateProgram>();
  program->limits = limits;
  MLXN_ASSIGN(program->body, TemplateParser(std::move(tokens), limits.depth).run());
  return program;
}

}  // namespace mlxn::text::detail
