// Tests of templates: what may follow "is".
#include <algorithm>
#include <functional>

#include "mlxn/base/strings.h"
#include "mlxn/text/template/internal/template_evaluator.h"
#include "mlxn/text/template/internal/template_values.h"

namespace mlxn::text::detail {
namespace {

struct Row {
  std::string_view name;
  bool (*holds)(const Value&);
};

bool is_undefined(const Value& value) {
  return value.is_undefined();
}
bool has_items(const Value& value) {
  return value.string() || value.list() || value.dict() || value.is_undefined();
}

// Tests without arguments.
constexpr Row kPlain[] = {
    {"defined", [](const Value& value) { return !is_undefined(value); }},
    {"undefined", is_undefined},
    {"none", [](const Value& value) { return value.is_none(); }},
    {"string", [](const Value& value) { return value.string() != nullptr; }},
    {"mapping", [](const Value& value) { return value.dict() != nullptr; }},
    {"iterable", has_items},
    {"sequence", has_items},
    {"number", is_number},
    {"integer", [](const Value& value) { return value.integer() != nullptr; }},
    {"float", [](const Value& value) { return value.floating() != nullptr; }},
    {"boolean", [](const Value& value) { return value.boolean() != nullptr; }},
    {"true", [](const Value& value) { return value.boolean() && *value.boolean(); }},
    {"false", [](const Value& value) { return value.boolean() && !*value.boolean(); }},
    {"callable",
     [](const Value& value) {
       using Kind = Value::Handle::Kind;
       return value.handle() &&
              (value.handle()->kind == Kind::kMacro || value.handle()->kind == Kind::kFunction ||
               value.handle()->kind == Kind::kMethod);
     }},
};

// Names of comparisons, for use as tests.
constexpr std::pair<std::string_view, std::string_view> kOrders[] = {
    {"eq", "=="}, {"equalto", "=="},    {"ne", "!="}, {"lt", "<"},  {"lessthan", "<"},
    {"gt", ">"},  {"greaterthan", ">"}, {"le", "<="}, {"ge", ">="},
};

}  // namespace

Result<bool> Evaluator::test(const Value& input, const Arguments& arguments) {
  const Position at = arguments.at;
  const std::string_view name = arguments.callee;
  for (const Row& row : kPlain) {
    if (row.name != name) continue;
    MLXN_TRY(check_arguments(arguments, 0, {}));
    return row.holds(input);
  }
  MLXN_TRY(check_arguments(arguments, 1, {}));
  const Value* other = arguments.find(0, "");
  if (name == "odd" || name == "even" || name == "divisibleby") {
    const int64_t divisor = name != "divisibleby"       ? 2
                            : other && other->integer() ? *other->integer()
                                                        : 0;
    if (!input.integer() || divisor == 0)
      return fail(at, str("test '", name, "' of ", kind_name(input), ", expected integers"));
    const bool divides = divisor == -1 || *input.integer() % divisor == 0;
    return divides == (name != "odd");
  }
  if ((name == "lower" || name == "upper") && input.string()) {
    MLXN_TRY(charge(at, input.weight()));
    const std::string& text = *input.string();
    const bool has_letters = lower_text(text) != upper_text(text);
    return has_letters && text == (name == "lower" ? lower_text(text) : upper_text(text));
  }
  const auto* const order_name = std::find_if(std::begin(kOrders), std::end(kOrders),
                                              [&](const auto& row) { return row.first == name; });
  const bool known = order_name != std::end(kOrders) || name == "in" || name == "sameas";
  if (!known)
    return template_error(ErrorCode::kUnsupported, at, str("test '", name, "' is not supported"));
  if (!other) return fail(at, str("test '", name, "' without an argument"));
  if (name == "in") return contains(at, *other, input);
  if (name == "sameas") {
    MLXN_TRY(charge(at, std::min(input.weight(), other->weight())));
    return kind_name(input) == kind_name(*other) && equal(input, *other);
  }
  return order(at, order_name->second, input, *other);
}

}  // namespace mlxn::text::detail
