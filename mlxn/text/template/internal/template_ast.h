// A parsed template.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mlxn/text/chat/chat_template.h"
#include "mlxn/text/template/internal/template_lexer.h"
#include "mlxn/text/template/value.h"

namespace mlxn::text::detail {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Expression {
  enum class Kind : uint8_t {
    kLiteral,      // value
    kName,         // text
    kAttribute,    // children[0] . text
    kItem,         // children[0] [ children[1] ]
    kSlice,        // children[0] [ children[1] : children[2] : children[3] ], null: not given
    kCall,         // children[0] ( arguments )
    kFilter,       // children[0] | text ( arguments )
    kTest,         // children[0] is text ( arguments )
    kNot,          // not children[0]
    kNegate,       // - children[0]
    kAnd,          // children[0] and children[1]
    kOr,           // children[0] or children[1]
    kArithmetic,   // children[0] text children[1]
    kConcat,       // all children, as text
    kCompare,      // children[0] names[0] children[1] names[1] children[2] ...
    kConditional,  // children[0] if children[1] else children[2], null: undefined
    kList,         // children
    kTuple,        // children
    kDict,         // children: name, value, name, value ...
  };
  Kind kind;
  Position at;
  uint32_t height = 1;  // of the tree
  Value value = {};
  std::string text = {};
  std::vector<ExpressionPtr> children = {};
  // kCall, kFilter, kTest: arguments without and with names.
  std::vector<ExpressionPtr> arguments = {};
  std::vector<std::pair<std::string, ExpressionPtr>> named = {};
  std::vector<std::string> names = {};
};

struct Statement;
using Body = std::vector<Statement>;

struct Statement {
  enum class Kind : uint8_t {
    kText,         // text
    kOutput,       // expression
    kIf,           // values[i]: bodies[i]; a null value is else
    kFor,          // names in expression if condition: body, otherwise
    kSet,          // names = expression; with text: text.names[0] = expression
    kSetBlock,     // names[0] = body, through the filters of expression (its innermost child null)
    kFilterBlock,  // body through the filters of expression
    kMacro,        // text(names, with defaults): body
    kWith,         // names = values: body
    kScope,        // body as it is
    kBreak,
    kContinue,
  };
  Kind kind;
  Position at;
  std::string text = {};
  std::vector<std::string> names = {};
  ExpressionPtr expression = nullptr;
  ExpressionPtr condition = nullptr;
  std::vector<ExpressionPtr> values = {};  // kMacro: defaults, null where there is none
  std::vector<Body> bodies = {};
  Body body = {};
  Body otherwise = {};
};

struct TemplateProgram {
  TemplateLimits limits;
  Body body;
};

Result<std::unique_ptr<TemplateProgram>> parse_template(std::string_view source,
                                                        const TemplateLimits& limits);

}  // namespace mlxn::text::detail
