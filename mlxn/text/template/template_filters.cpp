// Filters of templates for single values; those for lists lie in template_list_filters.cpp.
#include "mlxn/text/template/internal/template_filters.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/text/template/internal/template_scopes.h"
#include "mlxn/text/template/internal/template_values.h"
#include "mlxn/text/utf8.h"

namespace mlxn::text::detail {
namespace {

using Filtered = Result<Value>;

Filtered converted(const FilterCall& call, std::string (*convert)(std::string_view)) {
  MLXN_TRY(call.check(0, {}));
  MLXN_ASSIGN(const std::string text, call.text());
  return call.made(Value(convert(text)));
}

Filtered trim(const FilterCall& call) {
  MLXN_TRY(call.check(1, {"chars"}));
  MLXN_ASSIGN(std::string text, call.text());
  Arguments arguments{.at = call.arguments.at, .callee = "strip"};
  if (const Value* chars = call.arguments.find(0, "chars")) arguments.plain.push_back(*chars);
  return apply_method(call.evaluator, Value(std::move(text)), arguments);
}

Filtered replace(const FilterCall& call) {
  MLXN_ASSIGN(std::string text, call.text());
  Arguments arguments{.at = call.arguments.at, .callee = "replace"};
  arguments.plain = call.arguments.plain;
  return apply_method(call.evaluator, Value(std::move(text)), arguments);
}

Filtered fallback(const FilterCall& call) {
  MLXN_TRY(call.check(2, {"default_value", "boolean"}));
  const Value* also_false = call.arguments.find(1, "boolean");
  if (!call.input.is_undefined() && !(also_false && is_true(*also_false) && !is_true(call.input)))
    return call.input;
  const Value* value = call.arguments.find(0, "default_value");
  return value ? *value : Value("");
}

Filtered length(const FilterCall& call) {
  MLXN_TRY(call.check(0, {}));
  const Value& input = call.input;
  if (const std::string* text = input.string()) {
    MLXN_TRY(call.evaluator.charge(call.arguments.at, text->size()));
    return Value(static_cast<int64_t>(utf8_length(*text)));
  }
  if (!input.list() && !input.dict() && !input.is_undefined())
    return call.fail(str("length of ", kind_name(input)));
  return Value(static_cast<int64_t>(value_count(input)));
}

Filtered to_text(const FilterCall& call) {
  MLXN_ASSIGN(std::string text, call.text());
  return call.made(Value(std::move(text)));
}

// Python's int() and float() of a text: spaces around are allowed, more is not.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  text = strip_spaces(text, true, true);
  if (text.starts_with('+')) text.remove_prefix(1);
  Number number{};
  const auto done = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || done.ec != std::errc() || done.ptr != text.data() + text.size())
    return std::nullopt;
  return number;
}

std::optional<int64_t> whole(double number) {
  if (!(number > -9.2e18 && number < 9.2e18)) return std::nullopt;
  return static_cast<int64_t>(number);
}

Filtered to_integer(const FilterCall& call) {
  MLXN_TRY(call.check(1, {"default"}));
  std::optional<int64_t> out;
  if (call.input.integer()) {
    out = *call.input.integer();
  } else if (is_number(call.input)) {
    out = whole(number_of(call.input));
  } else if (const std::string* text = call.input.string()) {
    out = parse_number<int64_t>(*text);
    if (!out) {
      if (const auto number = parse_number<double>(*text)) out = whole(*number);
    }
  }
  if (out) return Value(*out);
  const Value* given = call.arguments.find(0, "default");
  return given ? *given : Value(0);
}

Filtered to_float(const FilterCall& call) {
  MLXN_TRY(call.check(1, {"default"}));
  if (is_number(call.input)) return Value(number_of(call.input));
  if (const std::string* text = call.input.string()) {
    if (const auto number = parse_number<double>(*text)) return Value(*number);
  }
  const Value* given = call.arguments.find(0, "default");
  return given ? *given : Value(0.0);
}

Filtered absolute(const FilterCall& call) {
  MLXN_TRY(call.check(0, {}));
  if (!is_number(call.input)) return call.fail(str("absolute value of ", kind_name(call.input)));
  if (call.input.floating()) return Value(std::abs(*call.input.floating()));
  const int64_t number = call.input.integer() ? *call.input.integer() : is_true(call.input);
  if (number == INT64_MIN) return call.fail("an integer that does not fit into 64 bits");
  return Value(number < 0 ? -number : number);
}

Filtered round_number(const FilterCall& call) {
  MLXN_TRY(call.check(2, {"precision", "method"}));
  MLXN_ASSIGN(const int64_t digits,
              call.evaluator.integer_argument(call.arguments, 0, "precision", 0));
  const Value* given = call.arguments.find(1, "method");
  const std::string method = given && given->string() ? *given->string() : "common";
  if (!is_number(call.input) || digits < 0 || digits > 15)
    return call.fail(str("rounding ", kind_name(call.input), " to ", digits, " digits"));
  if (method == "common" && call.input.integer()) return call.input;
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double number = number_of(call.input) * scale;
  if (method == "ceil") return Value(std::ceil(number) / scale);
  if (method == "floor") return Value(std::floor(number) / scale);
  if (method != "common") return call.fail(str("rounding method '", method, "'"));
  return Value(std::nearbyint(number) / scale);  // ties to even, as Python does
}

Filtered to_json(const FilterCall& call) {
  MLXN_TRY(call.check(1, {"indent", "ensure_ascii", "separators", "sort_keys"}));
  JsonStyle style;
  if (const Value* indent = call.arguments.find(0, "indent"); indent && !indent->is_none()) {
    if (!indent->integer() || *indent->integer() < 0 || *indent->integer() > 64)
      return call.fail("an indent of tojson that is not 0 to 64");
    style.indent = *indent->integer();
  }
  if (const Value* ascii = call.arguments.find(1, "ensure_ascii")) style.ascii = is_true(*ascii);
  if (const Value* sort = call.arguments.find(1, "sort_keys")) style.sort_keys = is_true(*sort);
  if (const Value* pair = call.arguments.find(1, "separators"); pair && !pair->is_none()) {
    const ValueList* list = pair->list();
    if (!list || list->size() != 2 || !(*list)[0].string() || !(*list)[1].string() ||
        (*list)[0].string()->empty() || (*list)[1].string()->empty())
      return call.fail("separators of tojson that are not two strings");
    style.item_separator = *(*list)[0].string();
    style.key_separator = *(*list)[1].string();
  }
  // Indents of nested lists come on top of the text.
  const auto lines = static_cast<uint64_t>(style.indent.value_or(0) * (call.input.depth() + 1));
  MLXN_TRY(call.evaluator.charge(call.arguments.at, call.input.weight() * (1 + lines / 8)));
  std::string out;
  if (!append_json(out, call.input, style))
    return call.fail(str("JSON of ", kind_name(call.input), ", expected plain data"));
  return call.made(Value(std::move(out)));
}

Filtered indent(const FilterCall& call) {
  MLXN_TRY(call.check(3, {"width", "first", "blank"}));
  MLXN_ASSIGN(const std::string text, call.text());
  const Value* width = call.arguments.find(0, "width");
  std::string space(4, ' ');
  if (width && width->string()) space = *width->string();
  if (width && width->integer()) {
    if (*width->integer() < 0 || *width->integer() > 1000)
      return call.fail(str("an indent of ", *width->integer(), ", expected 0 to 1000"));
    space = std::string(static_cast<size_t>(*width->integer()), ' ');
  }
  const Value* first = call.arguments.find(1, "first");
  const Value* blank = call.arguments.find(2, "blank");
  const auto lines = static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n') + 1);
  MLXN_TRY(call.evaluator.charge(call.arguments.at, text.size() + lines * space.size()));
  std::string out;
  for (size_t at = 0, line = 0; at <= text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const bool wanted =
        line == 0 ? first && is_true(*first) : end > at || (blank && is_true(*blank));
    if (line > 0) out += '\n';
    if (wanted) out += space;
    out += text.substr(at, end - at);
    at = end + 1;
  }
  return call.made(Value(std::move(out)));
}

Filtered escape(const FilterCall& call) {
  MLXN_TRY(call.check(0, {}));
  MLXN_ASSIGN(const std::string text, call.text());
  MLXN_TRY(call.evaluator.charge(call.arguments.at, 6 * text.size()));
  std::string out;
  for (const char byte : text) {
    constexpr std::string_view kBytes = "&<>'\"";
    constexpr std::string_view kNames[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    const size_t place = kBytes.find(byte);
    if (place == kBytes.npos) {
      out += byte;
    } else {
      out += kNames[place];
    }
  }
  return call.made(Value(std::move(out)));
}

constexpr FilterRow kValueFilters[] = {
    {"trim", trim},
    {"upper", [](const FilterCall& call) { return converted(call, upper_text); }},
    {"lower", [](const FilterCall& call) { return converted(call, lower_text); }},
    {"capitalize", [](const FilterCall& call) { return converted(call, capitalized_text); }},
    {"title", [](const FilterCall& call) { return converted(call, title_text); }},
    {"replace", replace},
    {"default", fallback},
    {"d", fallback},
    {"length", length},
    {"count", length},
    {"string", to_text},
    {"safe", to_text},
    {"escape", escape},
    {"e", escape},
    {"int", to_integer},
    {"float", to_float},
    {"abs", absolute},
    {"round", round_number},
    {"tojson", to_json},
    {"indent", indent},
};

}  // namespace

Result<Value> Evaluator::filter(const Value& input, const Arguments& arguments) {
  const FilterCall call{*this, input, arguments};
  const Depth depth(*this);  // "map" calls filters
  MLXN_TRY(depth.check(arguments.at));
  MLXN_TRY(charge(arguments.at, 64));
  for (const FilterRow& row : kValueFilters) {
    if (row.name == arguments.callee) return row.filter(call);
  }
  for (const FilterRow& row : list_filters()) {
    if (row.name == arguments.callee) return row.filter(call);
  }
  return template_error(ErrorCode::kUnsupported, arguments.at,
                        str("filter '", arguments.callee, "' is not supported"));
}

}  // namespace mlxn::text::detail
