// Filters of templates for lists and dictionaries.
#include <algorithm>
#include <numeric>

#include "mlxn/base/strings.h"
#include "mlxn/text/template/internal/template_filters.h"
#include "mlxn/text/template/internal/template_values.h"

namespace mlxn::text::detail {
namespace {

using Filtered = Result<Value>;
const Value kUndefined{Value::Handle{}};

// A path such as "function.name" or "0", followed into a value. A fallback stands for every part
// that is not there.
Result<Value> follow(const FilterCall& call, Value value, std::string_view path,
                     const Value* fallback = nullptr) {
  while (true) {
    const size_t end = std::min(path.find('.'), path.size());
    const std::string_view part = path.substr(0, end);
    const bool number =
        !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == part.npos;
    const Value index = number ? Value(std::stoi(std::string(part))) : Value(part);
    if (value.is_undefined()) return call.fail(str("'", part, "' of an undefined value"));
    MLXN_ASSIGN(value, call.evaluator.item(call.arguments.at, value, index));
    if (value.is_undefined() && fallback) value = *fallback;
    if (end == path.size()) return value;
    path.remove_prefix(end + 1);
  }
}

// The value that "attribute=..." asks for, or the item itself.
Result<Value> key_of(const FilterCall& call, const Value& item, const Value* fallback = nullptr) {
  const Value* path = call.arguments.find(SIZE_MAX, "attribute");
  if (!path || path->is_none()) return item;
  if (path->integer()) return call.evaluator.item(call.arguments.at, item, *path);
  if (!path->string()) return call.fail(str("an attribute named by ", kind_name(*path)));
  return follow(call, item, *path->string(), fallback);
}

Filtered first(const FilterCall& call) {
  MLXN_TRY(call.check(0, {}));
  MLXN_ASSIGN(const ValueList items, call.items());
  return items.empty() ? kUndefined : items.front();
}

Filtered last(const FilterCall& call) {
  MLXN_TRY(call.check(0, {}));
  MLXN_ASSIGN(const ValueList items, call.items());
  return items.empty() ? kUndefined : items.back();
}

Filtered to_list(const FilterCall& call) {
  MLXN_TRY(call.check(0, {}));
  MLXN_ASSIGN(ValueList items, call.items());
  return call.made(Value(std::move(items)));
}

Filtered reverse(const FilterCall& call) {
  MLXN_TRY(call.check(0, {}));
  MLXN_ASSIGN(ValueList items, call.items());
  std::reverse(items.begin(), items.end());
  if (!call.input.string()) return call.made(Value(std::move(items)));
  std::string text;
  for (const Value& one : items) text += *one.string();
  return call.made(Value(std::move(text)));
}

Filtered join(const FilterCall& call) {
  MLXN_TRY(call.check(1, {"d", "attribute"}));
  MLXN_ASSIGN(const ValueList items, call.items());
  const Value* given = call.arguments.find(0, "d");
  std::string separator;
  if (given) {
    MLXN_ASSIGN(separator, call.evaluator.print(call.arguments.at, *given));
  }
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    MLXN_ASSIGN(const Value item, key_of(call, items[i]));
    MLXN_ASSIGN(const std::string text, call.evaluator.print(call.arguments.at, item));
    MLXN_TRY(call.evaluator.charge(call.arguments.at, separator.size() + 64));
    if (i > 0) out += separator;
    out += text;
  }
  return call.made(Value(std::move(out)));
}

Filtered dict_items(const FilterCall& call) {
  MLXN_TRY(call.check(0, {}));
  if (call.input.is_undefined()) return Value(ValueList{});
  if (!call.input.dict()) return call.fail(str("items of ", kind_name(call.input)));
  return apply_method(call.evaluator, call.input, {.at = call.arguments.at, .callee = "items"});
}

// What select, reject, selectattr and rejectattr keep: items, or an attribute of them, that pass a
// test, or that are true when none is named.
Filtered select(const FilterCall& call, bool by_attribute, bool keep) {
  MLXN_ASSIGN(ValueList items, call.items());
  const std::vector<Value>& given = call.arguments.plain;
  const size_t used = by_attribute ? 1 : 0;
  if (!call.arguments.named.empty() || given.size() < used)
    return call.fail(str("'", call.arguments.callee, "' without the name of an attribute"));
  if (by_attribute && !given[0].string()) return call.fail("an attribute that is not a string");
  Arguments test{.at = call.arguments.at, .callee = ""};
  std::string name;
  if (given.size() > used) {
    if (!given[used].string()) return call.fail("a test that is not named by a string");
    name = *given[used].string();
    test.callee = name;
    test.plain.assign(given.begin() + static_cast<ptrdiff_t>(used) + 1, given.end());
  }
  ValueList out;
  for (Value& item : items) {
    MLXN_TRY(call.evaluator.charge(call.arguments.at, 64));
    Value value = item;
    if (by_attribute) {
      MLXN_ASSIGN(value, follow(call, item, *given[0].string()));
    }
    bool passes = is_true(value);
    if (given.size() > used) {
      MLXN_ASSIGN(passes, call.evaluator.test(value, test));
    }
    if (passes == keep) out.push_back(std::move(item));
  }
  return call.made(Value(std::move(out)));
}

Filtered map(const FilterCall& call) {
  MLXN_ASSIGN(const ValueList items, call.items());
  const std::vector<Value>& given = call.arguments.plain;
  const bool by_attribute = given.empty();
  const Value* fallback = call.arguments.find(SIZE_MAX, "default");
  if (by_attribute) {
    MLXN_TRY(call.check(0, {"attribute", "default"}));
    if (!call.arguments.find(SIZE_MAX, "attribute"))
      return call.fail("'map' without a filter or an attribute");
  } else if (!given[0].string()) {
    return call.fail("a filter that is not named by a string");
  }
  ValueList out;
  for (const Value& item : items) {
    MLXN_TRY(call.evaluator.charge(call.arguments.at, 64));
    Value value;
    if (by_attribute) {
      MLXN_ASSIGN(value, key_of(call, item, fallback));
      if (value.is_undefined() && fallback) value = *fallback;
    } else {
      Arguments inner{.at = call.arguments.at, .callee = *given[0].string()};
      inner.plain.assign(given.begin() + 1, given.end());
      inner.named = call.arguments.named;
      MLXN_ASSIGN(value, call.evaluator.filter(item, inner));
    }
    out.push_back(std::move(value));
  }
  return call.made(Value(std::move(out)));
}

// Letters of both cases are the same unless case_sensitive is given.
Value folded(const Value& key, bool case_sensitive) {
  return key.string() && !case_sensitive ? Value(lower_text(*key.string())) : key;
}

Result<std::vector<Value>> keys_of(const FilterCall& call, const ValueList& items) {
  const Value* flag = call.arguments.find(SIZE_MAX, "case_sensitive");
  std::vector<Value> keys;
  for (const Value& item : items) {
    MLXN_ASSIGN(const Value key, key_of(call, item));
    MLXN_TRY(call.evaluator.charge(call.arguments.at, 64 + key.weight()));
    keys.push_back(folded(key, flag && is_true(*flag)));
  }
  for (size_t i = 1; i < keys.size(); ++i) {
    if (!compare(keys[0], keys[i]))
      return call.fail(str("order between ", kind_name(keys[0]), " and ", kind_name(keys[i])));
    // Lists may hold kinds that have no order; then there is none between the lists.
    if (keys[i].list()) return call.fail("order between lists is not supported");
  }
  return keys;
}

// Places of the items in ascending order; equal ones keep theirs.
Result<std::vector<size_t>> sorted(const FilterCall& call, const ValueList& items,
                                   bool descending) {
  MLXN_ASSIGN(const std::vector<Value> keys, keys_of(call, items));
  uint64_t work = 0;
  for (const Value& key : keys) work += 16 * key.weight();  // about log2(n) comparisons for each
  MLXN_TRY(call.evaluator.charge(call.arguments.at, work));
  std::vector<size_t> places(items.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::sort(places.begin(), places.end(), [&](size_t a, size_t b) {
    const int order = compare(keys[a], keys[b]).value_or(0);
    if (order != 0) return descending ? order > 0 : order < 0;
    return a < b;
  });
  return places;
}

Filtered sort(const FilterCall& call) {
  MLXN_TRY(call.check(1, {"reverse", "case_sensitive", "attribute"}));
  MLXN_ASSIGN(const ValueList items, call.items());
  const Value* reverse = call.arguments.find(0, "reverse");
  MLXN_ASSIGN(const std::vector<size_t> places, sorted(call, items, reverse && is_true(*reverse)));
  ValueList out;
  for (const size_t place : places) out.push_back(items[place]);
  return call.made(Value(std::move(out)));
}

Filtered extreme(const FilterCall& call, bool greatest) {
  MLXN_TRY(call.check(0, {"case_sensitive", "attribute"}));
  MLXN_ASSIGN(const ValueList items, call.items());
  MLXN_ASSIGN(const std::vector<size_t> places, sorted(call, items, greatest));
  return places.empty() ? kUndefined : items[places.front()];
}

Filtered dict_sort(const FilterCall& call) {
  MLXN_TRY(call.check(0, {}));
  if (!call.input.dict()) return call.fail(str("dictsort of ", kind_name(call.input)));
  const ValueDict& dict = *call.input.dict();
  ValueList names;
  for (const auto& [name, value] : dict) names.emplace_back(name);
  MLXN_ASSIGN(const std::vector<size_t> places, sorted(call, names, false));
  ValueList out;
  for (const size_t place : places)
    out.push_back(Value::tuple({Value(dict[place].first), dict[place].second}));
  return call.made(Value(std::move(out)));
}

Filtered unique(const FilterCall& call) {
  MLXN_TRY(call.check(0, {"case_sensitive", "attribute"}));
  MLXN_ASSIGN(const ValueList items, call.items());
  const Value* flag = call.arguments.find(SIZE_MAX, "case_sensitive");
  std::vector<Value> seen;
  ValueList out;
  for (const Value& item : items) {
    MLXN_ASSIGN(const Value key, key_of(call, item));
    const Value plain = folded(key, flag && is_true(*flag));
    MLXN_TRY(call.evaluator.charge(call.arguments.at, plain.weight() * (seen.size() + 1)));
    if (std::any_of(seen.begin(), seen.end(), [&](const Value& one) { return equal(one, plain); }))
      continue;
    seen.push_back(plain);
    out.push_back(item);
  }
  return call.made(Value(std::move(out)));
}

Filtered sum(const FilterCall& call) {
  MLXN_TRY(call.check(0, {"attribute"}));
  MLXN_ASSIGN(const ValueList items, call.items());
  int64_t whole = 0;
  double number = 0;
  bool is_float = false;
  for (const Value& item : items) {
    MLXN_ASSIGN(const Value value, key_of(call, item));
    if (!is_number(value)) return call.fail(str("sum of ", kind_name(value)));
    is_float |= value.floating() != nullptr;
    number += number_of(value);
    const int64_t part = value.integer() ? *value.integer() : is_true(value) ? 1 : 0;
    if (!value.floating() && __builtin_add_overflow(whole, part, &whole))
      return call.fail("a sum that does not fit into 64 bits");
  }
  return is_float ? Value(number) : Value(whole);
}

constexpr FilterRow kListFilters[] = {
    {"first", first},
    {"last", last},
    {"list", to_list},
    {"reverse", reverse},
    {"join", join},
    {"items", dict_items},
    {"select", [](const FilterCall& call) { return select(call, false, true); }},
    {"reject", [](const FilterCall& call) { return select(call, false, false); }},
    {"selectattr", [](const FilterCall& call) { return select(call, true, true); }},
    {"rejectattr", [](const FilterCall& call) { return select(call, true, false); }},
    {"map", map},
    {"sort", sort},
    {"min", [](const FilterCall& call) { return extreme(call, false); }},
    {"max", [](const FilterCall& call) { return extreme(call, true); }},
    {"dictsort", dict_sort},
    {"unique", unique},
    {"sum", sum},
};

}  // namespace

std::span<const FilterRow> list_filters() {
  return kListFilters;
}

}  // namespace mlxn::text::detail
