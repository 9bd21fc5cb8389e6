// Calls in templates: macros, functions, loops, and the arguments they share.
#include <algorithm>

#include "mlxn/base/strings.h"
#include "mlxn/text/template/internal/template_evaluator.h"
#include "mlxn/text/template/internal/template_scopes.h"
#include "mlxn/text/template/internal/template_values.h"

namespace mlxn::text::detail {

using HandleKind = Value::Handle::Kind;

const Value* Arguments::find(size_t place, std::string_view name) const {
  if (place < plain.size()) return &plain[place];
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

Status Evaluator::check_arguments(const Arguments& arguments, size_t most,
                                  std::initializer_list<std::string_view> names) {
  if (arguments.plain.size() > most)
    return fail(arguments.at, str("'", arguments.callee, "' got ", arguments.plain.size(),
                                  " arguments, expected at most ", most));
  for (const auto& [name, value] : arguments.named) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      return fail(arguments.at, str("'", arguments.callee, "' has no argument '", name, "'"));
  }
  return {};
}

Result<std::string> Evaluator::text_argument(const Arguments& arguments, size_t place,
                                             std::string_view name) {
  const Value* value = arguments.find(place, name);
  if (!value || !value->string())
    return fail(arguments.at, str("argument '", name, "' of '", arguments.callee, "' is ",
                                  value ? kind_name(*value) : "missing", ", expected a string"));
  MLXN_TRY(charge(arguments.at, value->weight()));
  return *value->string();
}

Result<int64_t> Evaluator::integer_argument(const Arguments& arguments, size_t place,
                                            std::string_view name, int64_t fallback) {
  const Value* value = arguments.find(place, name);
  if (!value) return fallback;
  if (value->integer()) return *value->integer();
  if (value->boolean()) return int64_t{*value->boolean()};
  return fail(arguments.at, str("argument '", name, "' of '", arguments.callee, "' is ",
                                kind_name(*value), ", expected an integer"));
}

Result<ValueList> Evaluator::items_of(Position at, const Value& value) {
  ValueList out;
  if (const ValueList* list = value.list()) {
    MLXN_TRY(charge(at, 16 * list->size()));
    out = *list;
  } else if (const ValueDict* dict = value.dict()) {
    MLXN_TRY(charge(at, value.weight()));
    for (const auto& [name, item] : *dict) out.emplace_back(name);
  } else if (const std::string* text = value.string()) {
    MLXN_TRY(charge(at, 32 * text->size()));
    for (std::string_view one : characters(*text)) out.emplace_back(one);
  } else if (!value.is_undefined()) {
    return fail(at, str(kind_name(value), " has no items"));
  }
  return out;
}

Result<Value> Evaluator::evaluate_call(const Expression& node) {
  const Expression& callee = *node.children[0];
  Value target;
  if (callee.kind == Expression::Kind::kAttribute) {
    MLXN_ASSIGN(const Value object, evaluate(*callee.children[0]));
    if (object.is_undefined())
      return fail(callee.at, str("'", callee.children[0]->text, "' is undefined; its method '",
                                 callee.text, "' cannot be called"));
    if (is_method(object, callee.text)) {
      MLXN_ASSIGN(const Arguments arguments, arguments_of(node, callee.text));
      return apply_method(*this, object, arguments);
    }
    if (object.handle() && object.handle()->kind == HandleKind::kLoop && callee.text == "cycle") {
      MLXN_ASSIGN(const Arguments arguments, arguments_of(node, callee.text));
      return call_loop(object, arguments);
    }
    MLXN_ASSIGN(target, attribute(callee.at, object, callee.text));
  } else {
    MLXN_ASSIGN(target, evaluate(callee));
  }
  const Value::Handle* handle = target.handle();
  const bool named =
      callee.kind == Expression::Kind::kName || callee.kind == Expression::Kind::kAttribute;
  const std::string name = named ? str("'", callee.text, "'") : std::string("the value");
  if (!handle || handle->kind == HandleKind::kUndefined)
    return fail(node.at, str(name, " is ", kind_name(target), ", expected something to call"));
  MLXN_ASSIGN(const Arguments arguments, arguments_of(node, callee.text));
  if (handle->kind == HandleKind::kMacro) return call_macro(handle->index, arguments);
  if (handle->kind == HandleKind::kFunction) return call_function(handle->index, arguments);
  return template_error(ErrorCode::kUnsupported, node.at,
                        str("calling ", name, ", which is ", kind_name(target)));
}

Result<Value> Evaluator::call_macro(uint32_t index, const Arguments& arguments) {
  const Statement& macro = *macros_[index];
  if (arguments.plain.size() > macro.names.size())
    return fail(arguments.at, str("macro '", macro.text, "' got ", arguments.plain.size(),
                                  " arguments, expected at most ", macro.names.size()));
  for (const auto& [name, value] : arguments.named) {
    const auto place = std::find(macro.names.begin(), macro.names.end(), name);
    if (place == macro.names.end())
      return fail(arguments.at, str("macro '", macro.text, "' has no argument '", name, "'"));
    if (place - macro.names.begin() < static_cast<int64_t>(arguments.plain.size()))
      return fail(arguments.at, str("macro '", macro.text, "' got argument '", name, "' twice"));
  }
  const Depth depth(*this);
  MLXN_TRY(depth.check(arguments.at));
  const Scope scope(*this, 0);  // a macro sees its arguments and the names of the template
  for (size_t i = 0; i < macro.names.size(); ++i) {
    Value value(Value::Handle{});
    if (const Value* given = arguments.find(i, macro.names[i])) {
      value = *given;
    } else if (macro.values[i]) {
      MLXN_ASSIGN(value, evaluate(*macro.values[i]));
    }
    frames_[frame_].names[macro.names[i]] = std::move(value);
  }
  MLXN_ASSIGN(std::string text, capture(macro.body));
  return made(arguments.at, Value(std::move(text)));
}

Result<Value> Evaluator::call_function(uint32_t index, const Arguments& arguments) {
  enum Function : uint32_t { kRange, kNamespace, kDict, kRaise, kTime };
  switch (index) {
    case kRange: return call_range(arguments);
    case kNamespace:
    case kDict: {
      ValueDict items;
      if (arguments.plain.size() > 1 || (!arguments.plain.empty() && !arguments.plain[0].dict()))
        return fail(arguments.at, str("'", arguments.callee, "' expects name=value"));
      if (!arguments.plain.empty()) items = *arguments.plain[0].dict();
      for (const auto& [name, value] : arguments.named) items.emplace_back(name, value);
      MLXN_ASSIGN(Value dict, made(arguments.at, Value(std::move(items))));
      if (index == kDict) return dict;
      auto& names = namespaces_.emplace_back();
      for (const auto& [name, value] : *dict.dict()) names[name] = value;
      return Value(
          Value::Handle{HandleKind::kNamespace, static_cast<uint32_t>(namespaces_.size() - 1)});
    }
    case kRaise: {
      MLXN_ASSIGN(const std::string message, text_argument(arguments, 0, "message"));
      return fail(arguments.at, str("raised by the template: ", message));
    }
    default: break;
  }
  MLXN_ASSIGN(const std::string format, text_argument(arguments, 0, "format"));
  const std::optional<std::string> text = format_time(format, now_.value_or(0));
  if (!text)
    return template_error(ErrorCode::kUnsupported, arguments.at, str("time format '", format, "'"));
  return made(arguments.at, Value(*text));
}

Result<Value> Evaluator::call_range(const Arguments& arguments) {
  MLXN_TRY(check_arguments(arguments, 3, {}));
  if (arguments.plain.empty()) return fail(arguments.at, "'range' expects 1 to 3 integers");
  MLXN_ASSIGN(int64_t start, integer_argument(arguments, 0, "start", 0));
  MLXN_ASSIGN(int64_t stop, integer_argument(arguments, 1, "stop", 0));
  MLXN_ASSIGN(const int64_t step, integer_argument(arguments, 2, "step", 1));
  if (arguments.plain.size() == 1) std::swap(start, stop);
  if (step == 0) return fail(arguments.at, "'range' with steps of 0");
  ValueList items;
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    MLXN_TRY(charge(arguments.at, 64));
    items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return made(arguments.at, Value(std::move(items)));
}

Result<Value> Evaluator::loop_attribute(const Value& value, std::string_view name) {
  Value undefined{Value::Handle{}};
  const auto loop = std::find_if(loops_.rbegin(), loops_.rend(), [&](const Loop& one) {
    return one.serial == value.handle()->index;
  });
  if (loop == loops_.rend()) return undefined;  // its block has ended
  const auto index = static_cast<int64_t>(loop->index);
  const auto size = static_cast<int64_t>(loop->items->size());
  const auto neighbour = [&](int64_t at) {
    return at >= 0 && at < size ? (*loop->items)[static_cast<size_t>(at)] : undefined;
  };
  if (name == "index") return Value(index + 1);
  if (name == "index0") return Value(index);
  if (name == "revindex") return Value(size - index);
  if (name == "revindex0") return Value(size - index - 1);
  if (name == "first") return Value(index == 0);
  if (name == "last") return Value(index + 1 == size);
  if (name == "length") return Value(size);
  if (name == "previtem") return neighbour(index - 1);
  if (name == "nextitem") return neighbour(index + 1);
  const auto depth = static_cast<int64_t>(1);  // only recursive loops have more
  if (name == "depth") return Value(depth);
  if (name == "depth0") return Value(depth - 1);
  return undefined;
}

Result<Value> Evaluator::call_loop(const Value& loop, const Arguments& arguments) {
  MLXN_ASSIGN(const Value index, loop_attribute(loop, "index0"));
  if (arguments.plain.empty() || !index.integer())
    return fail(arguments.at, "'cycle' expects values, inside its loop");
  return arguments.plain[static_cast<size_t>(*index.integer()) % arguments.plain.size()];
}

}  // namespace mlxn::text::detail
