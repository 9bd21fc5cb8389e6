// Methods that strings, lists and dictionaries have in templates.
#include <algorithm>
#include <array>

#include "mlxn/base/strings.h"
#include "mlxn/text/template/internal/template_evaluator.h"
#include "mlxn/text/template/internal/template_scopes.h"
#include "mlxn/text/template/internal/template_values.h"
#include "mlxn/text/utf8.h"

namespace mlxn::text::detail {
namespace {

struct Call {
  Evaluator& evaluator;
  const Value& object;
  const Arguments& arguments;
  const std::string& text() const { return *object.string(); }
  Result<Value> made(Value value) const { return evaluator.made(arguments.at, std::move(value)); }
};
using Method = Result<Value> (*)(const Call&);

Result<Value> strip(const Call& call, bool at_start, bool at_end) {
  MLXN_TRY(call.evaluator.check_arguments(call.arguments, 1, {}));
  std::string_view text = call.text();
  if (call.arguments.plain.empty() || call.arguments.plain[0].is_none())
    return call.made(Value(strip_spaces(text, at_start, at_end)));
  MLXN_ASSIGN(const std::string set, call.evaluator.text_argument(call.arguments, 0, "chars"));
  MLXN_TRY(call.evaluator.charge(call.arguments.at, 16 * text.size()));
  std::vector<std::string_view> all = characters(text);
  const std::vector<std::string_view> wanted = characters(set);
  const auto in_set = [&](std::string_view one) {
    return std::find(wanted.begin(), wanted.end(), one) != wanted.end();
  };
  MLXN_TRY(call.evaluator.charge(call.arguments.at, text.size() * wanted.size()));
  size_t begin = 0;
  size_t end = all.size();
  while (at_start && begin < end && in_set(all[begin])) ++begin;
  while (at_end && begin < end && in_set(all[end - 1])) --end;
  if (begin == end) return Value("");
  const char* first = all[begin].data();
  return call.made(Value(std::string(first, all[end - 1].data() + all[end - 1].size())));
}

Result<Value> split_at_spaces(const Call& call, int64_t most) {
  ValueList parts;
  std::string_view rest = strip_spaces(call.text(), true, false);
  while (!rest.empty()) {
    size_t end = 0;
    if (most-- == 0) {
      parts.emplace_back(rest);
      break;
    }
    while (end < rest.size()) {
      const Utf8Step step = utf8_step(rest.substr(end));
      if (step.valid && is_python_space(step.code_point)) break;
      end += step.size;
    }
    MLXN_TRY(call.evaluator.charge(call.arguments.at, 64));
    parts.emplace_back(rest.substr(0, end));
    rest = strip_spaces(rest.substr(end), true, false);
  }
  return call.made(Value(std::move(parts)));
}

Result<Value> split(const Call& call) {
  MLXN_TRY(call.evaluator.check_arguments(call.arguments, 2, {"sep", "maxsplit"}));
  MLXN_TRY(call.evaluator.charge(call.arguments.at, call.text().size()));
  MLXN_ASSIGN(int64_t most, call.evaluator.integer_argument(call.arguments, 1, "maxsplit", -1));
  const Value* given = call.arguments.find(0, "sep");
  if (!given || given->is_none()) return split_at_spaces(call, most);
  MLXN_ASSIGN(const std::string separator, call.evaluator.text_argument(call.arguments, 0, "sep"));
  if (separator.empty()) return call.evaluator.fail(call.arguments.at, "split at an empty string");
  ValueList parts;
  std::string_view rest = call.text();
  for (size_t found; most-- != 0 && (found = rest.find(separator)) != rest.npos;) {
    MLXN_TRY(call.evaluator.charge(call.arguments.at, 64));
    parts.emplace_back(rest.substr(0, found));
    rest.remove_prefix(found + separator.size());
  }
  parts.emplace_back(rest);
  return call.made(Value(std::move(parts)));
}

Result<Value> split_from_end(const Call& call) {
  MLXN_TRY(call.evaluator.check_arguments(call.arguments, 2, {"sep", "maxsplit"}));
  MLXN_TRY(call.evaluator.charge(call.arguments.at, call.text().size()));
  MLXN_ASSIGN(const std::string separator, call.evaluator.text_argument(call.arguments, 0, "sep"));
  MLXN_ASSIGN(int64_t most, call.evaluator.integer_argument(call.arguments, 1, "maxsplit", -1));
  if (separator.empty()) return call.evaluator.fail(call.arguments.at, "split at an empty string");
  ValueList parts;
  std::string_view rest = call.text();
  for (size_t found; most-- != 0 && (found = rest.rfind(separator)) != rest.npos;) {
    MLXN_TRY(call.evaluator.charge(call.arguments.at, 64));
    parts.emplace_back(rest.substr(found + separator.size()));
    rest = rest.substr(0, found);
  }
  parts.emplace_back(rest);
  std::reverse(parts.begin(), parts.end());
  return call.made(Value(std::move(parts)));
}

Result<Value> split_lines(const Call& call) {
  MLXN_TRY(call.evaluator.check_arguments(call.arguments, 0, {}));
  ValueList parts;
  std::string_view rest = call.text();
  while (!rest.empty()) {
    MLXN_TRY(call.evaluator.charge(call.arguments.at, 64));
    const size_t end = std::min(rest.find_first_of("\n\r\v\f"), rest.size());
    parts.emplace_back(rest.substr(0, end));
    const size_t pair = rest.substr(end).starts_with("\r\n") ? 2 : 1;
    rest.remove_prefix(std::min(end + pair, rest.size()));
  }
  return call.made(Value(std::move(parts)));
}

// Whether the text begins or ends with the argument, or with one of a tuple.
Result<Value> has_affix(const Call& call, bool at_start) {
  MLXN_TRY(call.evaluator.check_arguments(call.arguments, 1, {}));
  const Value* given = call.arguments.find(0, "");
  ValueList choices;
  if (given) choices = given->list() ? *given->list() : ValueList{*given};
  if (choices.empty() && !(given && given->list()))
    return call.evaluator.fail(call.arguments.at, str("'", call.arguments.callee, "' of nothing"));
  for (const Value& choice : choices) {
    if (!choice.string())
      return call.evaluator.fail(call.arguments.at, str("'", call.arguments.callee, "' of ",
                                                        kind_name(choice), ", expected a string"));
    MLXN_TRY(call.evaluator.charge(call.arguments.at, choice.weight()));
    if (at_start ? call.text().starts_with(*choice.string())
                 : call.text().ends_with(*choice.string()))
      return Value(true);
  }
  return Value(false);
}

Result<Value> without_affix(const Call& call, bool at_start) {
  MLXN_ASSIGN(const std::string affix, call.evaluator.text_argument(call.arguments, 0, "affix"));
  std::string_view text = call.text();
  if (at_start && text.starts_with(affix)) text.remove_prefix(affix.size());
  if (!at_start && text.ends_with(affix)) text.remove_suffix(affix.size());
  return call.made(Value(text));
}

Result<Value> replace(const Call& call) {
  MLXN_TRY(call.evaluator.check_arguments(call.arguments, 3, {}));
  MLXN_ASSIGN(const std::string from, call.evaluator.text_argument(call.arguments, 0, "old"));
  MLXN_ASSIGN(const std::string to, call.evaluator.text_argument(call.arguments, 1, "new"));
  MLXN_ASSIGN(const int64_t most, call.evaluator.integer_argument(call.arguments, 2, "count", -1));
  // The longest result possible, before it is made.
  const uint64_t places = call.text().size() / std::max<size_t>(from.size(), 1) + 1;
  const uint64_t grown = to.size() > from.size() ? places * to.size() : 0;
  MLXN_TRY(call.evaluator.charge(call.arguments.at, call.text().size() + grown));
  return call.made(Value(replaced(call.text(), from, to, most)));
}

Result<Value> find(const Call& call, bool from_end) {
  MLXN_TRY(call.evaluator.check_arguments(call.arguments, 1, {}));
  MLXN_ASSIGN(const std::string wanted, call.evaluator.text_argument(call.arguments, 0, "sub"));
  MLXN_TRY(call.evaluator.charge(call.arguments.at, 2 * call.text().size()));
  const std::string_view text = call.text();
  const size_t found = from_end ? text.rfind(wanted) : text.find(wanted);
  if (found == text.npos) return Value(-1);
  return Value(static_cast<int64_t>(utf8_length(text.substr(0, found))));
}

Result<Value> count(const Call& call) {
  MLXN_TRY(call.evaluator.check_arguments(call.arguments, 1, {}));
  MLXN_TRY(call.evaluator.charge(call.arguments.at, call.object.weight()));
  int64_t total = 0;
  if (const ValueList* list = call.object.list()) {
    if (call.arguments.plain.empty())
      return call.evaluator.fail(call.arguments.at, "'count' of nothing");
    for (const Value& one : *list) total += equal(one, call.arguments.plain[0]) ? 1 : 0;
    return Value(total);
  }
  MLXN_ASSIGN(const std::string wanted, call.evaluator.text_argument(call.arguments, 0, "sub"));
  if (wanted.empty()) return Value(static_cast<int64_t>(utf8_length(call.text()) + 1));
  const std::string_view text = call.text();
  for (size_t at = 0; (at = text.find(wanted, at)) != text.npos; at += wanted.size()) ++total;
  return Value(total);
}

Result<Value> join(const Call& call) {
  MLXN_TRY(call.evaluator.check_arguments(call.arguments, 1, {}));
  if (call.arguments.plain.empty())
    return call.evaluator.fail(call.arguments.at, "'join' of nothing");
  MLXN_ASSIGN(const ValueList items,
              call.evaluator.items_of(call.arguments.at, call.arguments.plain[0]));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].string())
      return call.evaluator.fail(call.arguments.at,
                                 str("'join' of ", kind_name(items[i]), ", expected a string"));
    MLXN_TRY(call.evaluator.charge(call.arguments.at, items[i].weight() + call.text().size()));
    if (i > 0) out += call.text();
    out += *items[i].string();
  }
  return call.made(Value(std::move(out)));
}

// ASCII only: every character is in the class, and there is one.
Result<Value> all_of(const Call& call, bool (*in_class)(char)) {
  MLXN_TRY(call.evaluator.charge(call.arguments.at, call.text().size()));
  return Value(!call.text().empty() &&
               std::all_of(call.text().begin(), call.text().end(), in_class));
}
bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}
bool is_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

Result<Value> converted(const Call& call, std::string (*convert)(std::string_view)) {
  MLXN_TRY(call.evaluator.check_arguments(call.arguments, 0, {}));
  MLXN_TRY(call.evaluator.charge(call.arguments.at, call.text().size()));
  return call.made(Value(convert(call.text())));
}

Result<Value> dict_get(const Call& call) {
  MLXN_TRY(call.evaluator.check_arguments(call.arguments, 2, {}));
  MLXN_TRY(call.evaluator.charge(call.arguments.at, 8 * call.object.dict()->size()));
  const Value* name = call.arguments.find(0, "");
  if (!name) return call.evaluator.fail(call.arguments.at, "'get' of nothing");
  const Value* found = name->string() ? call.object.find(*name->string()) : nullptr;
  if (found) return *found;
  const Value* fallback = call.arguments.find(1, "");
  return fallback ? *fallback : Value();
}

Result<Value> dict_parts(const Call& call, bool names, bool values) {
  MLXN_TRY(call.evaluator.check_arguments(call.arguments, 0, {}));
  MLXN_TRY(call.evaluator.charge(call.arguments.at, 64 * call.object.dict()->size()));
  ValueList items;
  for (const auto& [name, value] : *call.object.dict())
    items.push_back(!values ? Value(name) : !names ? value : Value::tuple({Value(name), value}));
  return call.made(Value(std::move(items)));
}

Result<Value> list_index(const Call& call) {
  MLXN_TRY(call.evaluator.charge(call.arguments.at, call.object.weight()));
  const Value* wanted = call.arguments.find(0, "");
  const ValueList& list = *call.object.list();
  for (size_t i = 0; wanted && i < list.size(); ++i) {
    if (equal(list[i], *wanted)) return Value(static_cast<int64_t>(i));
  }
  return call.evaluator.fail(call.arguments.at, "'index' of a value that is not in the list");
}

Result<Value> refuse(const Call& call) {
  return template_error(ErrorCode::kUnsupported, call.arguments.at,
                        str("method '", call.arguments.callee, "' of ", kind_name(call.object)));
}

struct Row {
  std::string_view name;
  Method method;
};

constexpr Row kStringMethods[] = {
    {"strip", [](const Call& call) { return strip(call, true, true); }},
    {"lstrip", [](const Call& call) { return strip(call, true, false); }},
    {"rstrip", [](const Call& call) { return strip(call, false, true); }},
    {"split", split},
    {"rsplit", split_from_end},
    {"splitlines", split_lines},
    {"startswith", [](const Call& call) { return has_affix(call, true); }},
    {"endswith", [](const Call& call) { return has_affix(call, false); }},
    {"removeprefix", [](const Call& call) { return without_affix(call, true); }},
    {"removesuffix", [](const Call& call) { return without_affix(call, false); }},
    {"replace", replace},
    {"find", [](const Call& call) { return find(call, false); }},
    {"rfind", [](const Call& call) { return find(call, true); }},
    {"count", count},
    {"join", join},
    {"upper", [](const Call& call) { return converted(call, upper_text); }},
    {"lower", [](const Call& call) { return converted(call, lower_text); }},
    {"capitalize", [](const Call& call) { return converted(call, capitalized_text); }},
    {"title", [](const Call& call) { return converted(call, title_text); }},
    {"isdigit", [](const Call& call) { return all_of(call, is_digit); }},
    {"isalpha", [](const Call& call) { return all_of(call, is_letter); }},
    {"isalnum",
     [](const Call& call) {
       return all_of(call, [](char byte) { return is_digit(byte) || is_letter(byte); });
     }},
    {"format", refuse},
    {"encode", refuse},
};
constexpr Row kDictMethods[] = {
    {"get", dict_get},
    {"items", [](const Call& call) { return dict_parts(call, true, true); }},
    {"keys", [](const Call& call) { return dict_parts(call, true, false); }},
    {"values", [](const Call& call) { return dict_parts(call, false, true); }},
    {"copy", [](const Call& call) -> Result<Value> { return call.object; }},
    {"pop", refuse},
    {"update", refuse},
    {"setdefault", refuse},
    {"clear", refuse},
    {"popitem", refuse},
    {"fromkeys", refuse},
};
constexpr Row kListMethods[] = {
    {"index", list_index}, {"count", count},  {"append", refuse}, {"extend", refuse},
    {"insert", refuse},    {"pop", refuse},   {"remove", refuse}, {"sort", refuse},
    {"reverse", refuse},   {"clear", refuse},
};

const Row* find_row(const Value& object, std::string_view name) {
  const auto search = [&](const auto& rows) -> const Row* {
    const auto* found = std::find_if(std::begin(rows), std::end(rows),
                                     [&](const Row& row) { return row.name == name; });
    return found == std::end(rows) ? nullptr : found;
  };
  if (object.string()) return search(kStringMethods);
  if (object.dict()) return search(kDictMethods);
  if (object.list()) return search(kListMethods);
  return nullptr;
}

}  // namespace

bool is_method(const Value& object, std::string_view name) {
  return find_row(object, name) != nullptr;
}

Result<Value> apply_method(Evaluator& evaluator, const Value& object, const Arguments& arguments) {
  const Row* row = find_row(object, arguments.callee);
  if (!row)
    return evaluator.fail(arguments.at,
                          str(kind_name(object), " has no method '", arguments.callee, "'"));
  return row->method({evaluator, object, arguments});
}

}  // namespace mlxn::text::detail
