#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/text/template/internal/template_evaluator.h"
#include "mlxn/text/template/internal/template_scopes.h"
#include "mlxn/text/template/internal/template_values.h"
#include "mlxn/text/utf8.h"

namespace mlxn::text::detail {
namespace {

const Value kUndefined{Value::Handle{}};

std::string describe(const Expression& node) {
  if (node.kind == Expression::Kind::kName || node.kind == Expression::Kind::kAttribute)
    return str("'", node.text, "'");
  return "the value";
}

// Where a position of a slice or an index lies, counted from the end when below 0.
int64_t resolve(int64_t index, int64_t size, int64_t low, int64_t high) {
  if (index < 0) index = index < -size ? -1 : index + size;
  return std::clamp(index, low, high);
}

}  // namespace

Result<Value> Evaluator::evaluate(const Expression& node) {
  using Kind = Expression::Kind;
  const Depth depth(*this);
  MLXN_TRY(depth.check(node.at));
  MLXN_TRY(step(node.at));
  switch (node.kind) {
    case Kind::kLiteral: return node.value;
    case Kind::kName: return evaluate_name(node);
    case Kind::kAttribute:
    case Kind::kItem: {
      MLXN_ASSIGN(const Value object, evaluate(*node.children[0]));
      if (object.is_undefined())
        return fail(node.at, str(describe(*node.children[0]), " is undefined"));
      if (node.kind == Kind::kAttribute) return attribute(node.at, object, node.text);
      MLXN_ASSIGN(const Value index, evaluate(*node.children[1]));
      return item(node.at, object, index);
    }
    case Kind::kSlice: return evaluate_slice(node);
    case Kind::kCall: return evaluate_call(node);
    case Kind::kFilter: return evaluate_filter(node);
    case Kind::kTest: return evaluate_test(node);
    case Kind::kNot:
    case Kind::kAnd:
    case Kind::kOr:
    case Kind::kConditional: return evaluate_logic(node);
    case Kind::kNegate: {
      MLXN_ASSIGN(const Value value, evaluate(*node.children[0]));
      return arithmetic(node.at, "-", Value(0), value);
    }
    case Kind::kArithmetic: return evaluate_arithmetic(node);
    case Kind::kConcat: return evaluate_concat(node);
    case Kind::kCompare: return evaluate_compare(node);
    case Kind::kList:
    case Kind::kTuple: return evaluate_items(node);
    case Kind::kDict: return evaluate_dict(node);
  }
  return template_error(ErrorCode::kInternal, node.at, "an expression of no kind");
}

Result<Value> Evaluator::evaluate_name(const Expression& node) {
  if (const Value* value = lookup(node.text)) return *value;
  constexpr std::string_view kFunctions[] = {"range", "namespace", "dict", "raise_exception",
                                             "strftime_now"};
  for (uint32_t i = 0; i < std::size(kFunctions); ++i) {
    if (kFunctions[i] == node.text && (now_ || node.text != "strftime_now"))
      return Value(Value::Handle{Value::Handle::Kind::kFunction, i});
  }
  return kUndefined;
}

Result<Value> Evaluator::evaluate_logic(const Expression& node) {
  using Kind = Expression::Kind;
  const bool conditional = node.kind == Kind::kConditional;
  MLXN_ASSIGN(Value first, evaluate(*node.children[conditional ? 1 : 0]));
  const bool truth = is_true(first);
  if (node.kind == Kind::kNot) return Value(!truth);
  if (conditional) {
    if (truth) return evaluate(*node.children[0]);
    return node.children[2] ? evaluate(*node.children[2]) : Result<Value>(kUndefined);
  }
  if (truth == (node.kind == Kind::kOr)) return first;
  return evaluate(*node.children[1]);
}

Result<Value> Evaluator::attribute(Position at, const Value& value, std::string_view name) {
  if (value.is_undefined()) return fail(at, str("attribute '", name, "' of an undefined value"));
  if (is_method(value, name)) return Value(Value::Handle{Value::Handle::Kind::kMethod, 0});
  if (const ValueDict* dict = value.dict()) {
    MLXN_TRY(charge(at, 8 * dict->size()));
    const Value* found = value.find(name);
    return found ? *found : kUndefined;
  }
  const Value::Handle* handle = value.handle();
  if (handle && handle->kind == Value::Handle::Kind::kNamespace) {
    const auto& names = namespaces_[handle->index];
    const auto found = names.find(name);
    return found == names.end() ? kUndefined : found->second;
  }
  if (handle && handle->kind == Value::Handle::Kind::kLoop) return loop_attribute(value, name);
  return kUndefined;
}

Result<Value> Evaluator::item(Position at, const Value& value, const Value& index) {
  if (value.is_undefined()) return fail(at, "an item of an undefined value");
  const bool whole = index.integer() || index.boolean();
  const auto place = whole && index.integer() ? *index.integer() : int64_t{is_true(index)};
  if (const ValueList* list = value.list(); list && whole) {
    const auto size = static_cast<int64_t>(list->size());
    if (place < -size || place >= size) return kUndefined;
    return (*list)[static_cast<size_t>(place < 0 ? place + size : place)];
  }
  if (const std::string* text = value.string(); text && whole) {
    MLXN_TRY(charge(at, 16 * text->size()));
    const std::vector<std::string_view> all = characters(*text);
    const auto size = static_cast<int64_t>(all.size());
    if (place < -size || place >= size) return kUndefined;
    return Value(all[static_cast<size_t>(place < 0 ? place + size : place)]);
  }
  const std::string* name = index.string();
  if (!name) return kUndefined;
  if (const ValueDict* dict = value.dict()) {
    MLXN_TRY(charge(at, 8 * dict->size()));
    if (const Value* found = value.find(*name)) return *found;
  }
  return attribute(at, value, *name);
}

Result<Value> Evaluator::evaluate_slice(const Expression& node) {
  MLXN_ASSIGN(const Value value, evaluate(*node.children[0]));
  std::optional<int64_t> given[3];
  for (size_t i = 0; i < 3; ++i) {
    if (!node.children[i + 1]) continue;
    MLXN_ASSIGN(const Value number, evaluate(*node.children[i + 1]));
    if (number.is_none()) continue;
    if (!number.integer())
      return fail(node.at, str("a slice by ", kind_name(number), ", expected an integer"));
    given[i] = *number.integer();
  }
  const ValueList* list = value.list();
  const std::string* text = value.string();
  if (!list && !text)
    return fail(node.at, str("a slice of ", kind_name(value), ", expected a list or a string"));
  MLXN_TRY(charge(node.at, value.weight()));
  std::vector<std::string_view> all;
  if (text) all = characters(*text);
  const auto size = static_cast<int64_t>(text ? all.size() : list->size());
  const int64_t step = given[2].value_or(1);
  if (step == 0) return fail(node.at, "a slice with steps of 0");
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? size : size - 1;
  const int64_t start = given[0] ? resolve(*given[0], size, low, high) : step > 0 ? low : high;
  const int64_t stop = given[1] ? resolve(*given[1], size, low, high) : step > 0 ? high : low;
  std::string cut;
  ValueList part;
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (text) {
      cut += all[static_cast<size_t>(i)];
    } else {
      part.push_back((*list)[static_cast<size_t>(i)]);
    }
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  if (text) return made(node.at, Value(std::move(cut)));
  return made(node.at, value.is_tuple() ? Value::tuple(std::move(part)) : Value(std::move(part)));
}

Result<Arguments> Evaluator::arguments_of(const Expression& node, std::string_view callee) {
  Arguments out{.at = node.at, .callee = callee};
  for (const ExpressionPtr& one : node.arguments) {
    MLXN_ASSIGN(Value value, evaluate(*one));
    out.plain.push_back(std::move(value));
  }
  for (const auto& [name, one] : node.named) {
    MLXN_ASSIGN(Value value, evaluate(*one));
    out.named.emplace_back(name, std::move(value));
  }
  return out;
}

Result<Value> Evaluator::evaluate_filter(const Expression& node) {
  MLXN_ASSIGN(const Value input, evaluate(*node.children[0]));
  MLXN_ASSIGN(const Arguments arguments, arguments_of(node, node.text));
  return filter(input, arguments);
}

Result<Value> Evaluator::evaluate_test(const Expression& node) {
  MLXN_ASSIGN(const Value input, evaluate(*node.children[0]));
  MLXN_ASSIGN(const Arguments arguments, arguments_of(node, node.text));
  MLXN_ASSIGN(const bool passed, test(input, arguments));
  return Value(passed);
}

Result<Value> Evaluator::evaluate_concat(const Expression& node) {
  std::string out;
  for (const ExpressionPtr& child : node.children) {
    MLXN_ASSIGN(const Value value, evaluate(*child));
    MLXN_ASSIGN(const std::string text, print(child->at, value));
    out += text;
  }
  return made(node.at, Value(std::move(out)));
}

Result<Value> Evaluator::evaluate_items(const Expression& node) {
  ValueList items;
  for (const ExpressionPtr& child : node.children) {
    MLXN_ASSIGN(Value value, evaluate(*child));
    items.push_back(std::move(value));
  }
  return made(node.at, node.kind == Expression::Kind::kTuple ? Value::tuple(std::move(items))
                                                             : Value(std::move(items)));
}

Result<Value> Evaluator::evaluate_dict(const Expression& node) {
  ValueDict items;
  for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
    MLXN_ASSIGN(const Value name, evaluate(*node.children[i]));
    MLXN_ASSIGN(Value value, evaluate(*node.children[i + 1]));
    if (!name.string())
      return template_error(ErrorCode::kUnsupported, node.children[i]->at,
                            str("a dictionary with ", kind_name(name), " as a name"));
    items.emplace_back(*name.string(), std::move(value));
  }
  return made(node.at, Value(std::move(items)));
}

Result<Value> Evaluator::evaluate_compare(const Expression& node) {
  MLXN_ASSIGN(Value left, evaluate(*node.children[0]));
  for (size_t i = 0; i < node.names.size(); ++i) {
    const std::string& name = node.names[i];
    MLXN_ASSIGN(Value right, evaluate(*node.children[i + 1]));
    bool holds = false;
    if (name == "in" || name == "not in") {
      MLXN_ASSIGN(const bool found, contains(node.at, right, left));
      holds = found == (name == "in");
    } else {
      MLXN_ASSIGN(holds, order(node.at, name, left, right));
    }
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<bool> Evaluator::order(Position at, std::string_view name, const Value& left,
                              const Value& right) {
  MLXN_TRY(charge(at, std::min(left.weight(), right.weight())));
  if (name == "==" || name == "!=") return equal(left, right) == (name == "==");
  const std::optional<int> order = compare(left, right);
  if (!order) {
    if (is_number(left) && is_number(right)) return false;  // not a number
    return fail(at, str("'", name, "' between ", kind_name(left), " and ", kind_name(right)));
  }
  if (name == "<") return *order < 0;
  if (name == "<=") return *order <= 0;
  if (name == ">") return *order > 0;
  return *order >= 0;
}

Result<bool> Evaluator::contains(Position at, const Value& container, const Value& value) {
  MLXN_TRY(charge(at, container.weight()));
  if (const std::string* text = container.string()) {
    if (!value.string())
      return fail(at, str(kind_name(value), " in a string, expected a string in a string"));
    return text->find(*value.string()) != std::string::npos;
  }
  if (container.dict()) {
    if (value.list() || value.dict()) return fail(at, str(kind_name(value), " as a name"));
    return value.string() && container.find(*value.string());
  }
  if (const ValueList* list = container.list())
    return std::any_of(list->begin(), list->end(),
                       [&](const Value& one) { return equal(one, value); });
  if (container.is_undefined()) return false;
  return fail(at,
              str("'in' for ", kind_name(container), ", expected a string, list or dictionary"));
}

Result<Value> Evaluator::evaluate_arithmetic(const Expression& node) {
  MLXN_ASSIGN(const Value left, evaluate(*node.children[0]));
  MLXN_ASSIGN(const Value right, evaluate(*node.children[1]));
  for (size_t i = 0; i < 2; ++i) {
    if ((i == 0 ? left : right).is_undefined())
      return fail(node.at, str(describe(*node.children[i]), " is undefined"));
  }
  return arithmetic(node.at, node.text, left, right);
}

Result<Value> Evaluator::arithmetic(Position at, std::string_view name, const Value& left,
                                    const Value& right) {
  if (name == "+" && left.string() && right.string()) {
    MLXN_TRY(charge(at, left.weight() + right.weight()));
    return made(at, Value(*left.string() + *right.string()));
  }
  if (name == "+" && left.list() && right.list()) {
    MLXN_TRY(charge(at, 16 * (left.list()->size() + right.list()->size())));
    ValueList items = *left.list();
    items.insert(items.end(), right.list()->begin(), right.list()->end());
    return made(at, Value(std::move(items)));
  }
  if (name == "*" && right.integer() && (left.string() || left.list()))
    return repeated(at, left, *right.integer());
  if (name == "*" && left.integer() && (right.string() || right.list()))
    return repeated(at, right, *left.integer());
  if (name == "%" && left.string())
    return template_error(ErrorCode::kUnsupported, at, "formatting by '%' is not supported");
  if (!is_number(left) || !is_number(right))
    return fail(at, str("'", name, "' between ", kind_name(left), " and ", kind_name(right)));
  if (!left.floating() && !right.floating() && name != "/")
    return integer_arithmetic(at, name, left.integer() ? *left.integer() : is_true(left),
                              right.integer() ? *right.integer() : is_true(right));
  const double a = number_of(left);
  const double b = number_of(right);
  if (name == "+") return Value(a + b);
  if (name == "-") return Value(a - b);
  if (name == "*") return Value(a * b);
  if (name == "**") return Value(std::pow(a, b));
  if (b == 0) return fail(at, "division by zero");
  if (name == "/") return Value(a / b);
  if (name == "//") return Value(std::floor(a / b));
  const double rest = std::fmod(a, b);
  return Value(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

Result<Value> Evaluator::integer_arithmetic(Position at, std::string_view name, int64_t left,
                                            int64_t right) {
  int64_t out = 0;
  bool overflow = false;
  if (name == "+") {
    overflow = __builtin_add_overflow(left, right, &out);
  } else if (name == "-") {
    overflow = __builtin_sub_overflow(left, right, &out);
  } else if (name == "*") {
    overflow = __builtin_mul_overflow(left, right, &out);
  } else if (name == "**") {
    if (right < 0) return Value(std::pow(static_cast<double>(left), static_cast<double>(right)));
    out = 1;
    if (right > 63 && (left > 1 || left < -1)) right = 64;  // overflows all the same
    if (right > 64) right = 2 - (right & 1);                // 0, 1 and -1: only parity counts
    for (; right > 0 && !overflow; --right) overflow = __builtin_mul_overflow(out, left, &out);
  } else if (right == 0) {
    return fail(at, "division by zero");
  } else if (right == -1) {  // the one division that overflows
    overflow = name == "//" && __builtin_sub_overflow(int64_t{0}, left, &out);
  } else {
    const int64_t rest = left % right;
    const bool adjust = rest != 0 && (rest < 0) != (right < 0);
    out = name == "//" ? left / right - (adjust ? 1 : 0) : rest + (adjust ? right : 0);
  }
  if (overflow)
    return template_error(ErrorCode::kOutOfRange, at,
                          str(left, " ", name, " ", right, " does not fit into 64 bits"));
  return Value(out);
}

Result<Value> Evaluator::repeated(Position at, const Value& value, int64_t times) {
  const uint64_t size = value.string() ? value.string()->size() : 16 * value_count(value);
  uint64_t total = 0;
  times = std::max<int64_t>(times, 0);
  if (__builtin_mul_overflow(size, static_cast<uint64_t>(times), &total)) total = UINT64_MAX;
  MLXN_TRY(charge(at, total));
  if (size == 0) times = 0;
  std::string text;
  ValueList items;
  for (int64_t i = 0; i < times; ++i) {
    if (value.string()) {
      text += *value.string();
    } else {
      items.insert(items.end(), value.list()->begin(), value.list()->end());
    }
  }
  return made(at, value.string() ? Value(std::move(text)) : Value(std::move(items)));
}

}  // namespace mlxn::text::detail
