#include "mlxn/text/template/internal/template_evaluator.h"

#include <algorithm>
#include <utility>

#include "mlxn/base/strings.h"
#include "mlxn/text/template/internal/template_scopes.h"
#include "mlxn/text/template/internal/template_values.h"

namespace mlxn::text::detail {

Evaluator::Evaluator(const TemplateProgram& program, const ValueDict& variables,
                     std::optional<int64_t> now)
    : program_(program), now_(now) {
  frames_.push_back({{}, 0});
  for (const auto& [name, value] : variables) frames_[0].names[name] = value;
}

Result<std::string> Evaluator::run() {
  std::string out;
  out_ = &out;
  MLXN_TRY(execute(program_.body));
  return out;
}

Error Evaluator::fail(Position at, std::string_view message) const {
  return template_error(ErrorCode::kInvalidArgument, at, message);
}

Status Evaluator::charge(Position at, uint64_t bytes) {
  steps_ = std::min(UINT64_MAX / 2, steps_ + bytes / 64);
  if (steps_ <= program_.limits.steps) return {};
  return template_error(ErrorCode::kOutOfRange, at,
                        str("more than ", program_.limits.steps, " steps"));
}

Status Evaluator::step(Position at) {
  return charge(at, 64);
}

Result<Value> Evaluator::made(Position at, Value value) {
  MLXN_TRY(
      charge(at, value.list() || value.dict() ? 64 + 16 * value_count(value) : value.weight()));
  if (value.depth() > Value::kMaxDepth)
    return template_error(ErrorCode::kOutOfRange, at,
                          str("a value nested deeper than ", Value::kMaxDepth));
  return value;
}

Status Evaluator::append(Position at, std::string_view text) {
  MLXN_TRY(charge(at, text.size()));
  if (text.size() >
      program_.limits.output_bytes - std::min(out_->size(), program_.limits.output_bytes))
    return template_error(ErrorCode::kOutOfRange, at,
                          str("more than ", program_.limits.output_bytes, " bytes of output"));
  *out_ += text;
  return {};
}

Result<std::string> Evaluator::print(Position at, const Value& value) {
  if (value.handle() && !value.is_undefined())
    return template_error(ErrorCode::kUnsupported, at, str("printing ", kind_name(value)));
  MLXN_TRY(charge(at, value.weight()));
  return text_of(value);
}

Result<Evaluator::Flow> Evaluator::execute(const Body& body) {
  for (const Statement& statement : body) {
    MLXN_ASSIGN(const Flow flow, execute(statement));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::execute(const Statement& statement) {
  using Kind = Statement::Kind;
  const Depth depth(*this);
  MLXN_TRY(depth.check(statement.at));
  MLXN_TRY(step(statement.at));
  switch (statement.kind) {
    case Kind::kText: MLXN_TRY(append(statement.at, statement.text)); break;
    case Kind::kOutput: {
      MLXN_ASSIGN(const Value value, evaluate(*statement.expression));
      MLXN_ASSIGN(const std::string text, print(statement.at, value));
      MLXN_TRY(append(statement.at, text));
      break;
    }
    case Kind::kIf:
      for (size_t i = 0; i < statement.values.size(); ++i) {
        if (statement.values[i]) {
          MLXN_ASSIGN(const Value condition, evaluate(*statement.values[i]));
          if (!is_true(condition)) continue;
        }
        return execute(statement.bodies[i]);
      }
      break;
    case Kind::kFor: return execute_for(statement);
    case Kind::kSet:
    case Kind::kSetBlock: MLXN_TRY(execute_set(statement)); break;
    case Kind::kFilterBlock: {
      MLXN_ASSIGN(std::string text, capture(statement.body));
      MLXN_ASSIGN(const Value value,
                  through_filters(statement.expression.get(), Value(std::move(text))));
      MLXN_ASSIGN(const std::string shown, print(statement.at, value));
      MLXN_TRY(append(statement.at, shown));
      break;
    }
    case Kind::kMacro: MLXN_TRY(define_macro(statement)); break;
    case Kind::kWith: {
      std::vector<Value> values;
      for (const auto& one : statement.values) {
        MLXN_ASSIGN(Value value, evaluate(*one));
        values.push_back(std::move(value));
      }
      const Scope scope(*this, frame_);
      for (size_t i = 0; i < values.size(); ++i)
        frames_[frame_].names[statement.names[i]] = std::move(values[i]);
      return execute(statement.body);
    }
    case Kind::kScope: return execute(statement.body);
    case Kind::kBreak: return Flow::kBreak;
    case Kind::kContinue: return Flow::kContinue;
  }
  return Flow::kNext;
}

Result<ValueList> Evaluator::select_items(const Statement& statement, ValueList items) {
  if (!statement.condition) return items;
  ValueList out;
  for (Value& item : items) {
    const Scope scope(*this, frame_);
    MLXN_TRY(bind(statement.at, statement.names, item));
    MLXN_ASSIGN(const Value keep, evaluate(*statement.condition));
    if (is_true(keep)) out.push_back(std::move(item));
  }
  return out;
}

Result<Evaluator::Flow> Evaluator::execute_for(const Statement& statement) {
  MLXN_ASSIGN(const Value container, evaluate(*statement.expression));
  MLXN_ASSIGN(ValueList all, items_of(statement.at, container));
  MLXN_ASSIGN(const ValueList items, select_items(statement, std::move(all)));
  if (items.empty()) return execute(statement.otherwise);
  loops_.push_back({++loop_serial_, &items, 0});
  const Value loop(Value::Handle{Value::Handle::Kind::kLoop, loop_serial_});
  Flow flow = Flow::kNext;
  for (size_t i = 0; i < items.size() && flow != Flow::kBreak; ++i) {
    MLXN_TRY(step(statement.at));
    loops_.back().index = i;
    const Scope scope(*this, frame_);
    frames_[frame_].names["loop"] = loop;
    MLXN_TRY(bind(statement.at, statement.names, items[i]));
    MLXN_ASSIGN(flow, execute(statement.body));
  }
  loops_.pop_back();
  return Flow::kNext;
}

Status Evaluator::bind(Position at, const std::vector<std::string>& names, const Value& value) {
  auto& frame = frames_[frame_].names;
  if (names.size() == 1) {
    frame[names[0]] = value;
    return {};
  }
  MLXN_ASSIGN(ValueList parts, items_of(at, value));
  if (parts.size() != names.size())
    return fail(at, str(parts.size(), " values for ", names.size(), " names"));
  for (size_t i = 0; i < names.size(); ++i) frame[names[i]] = std::move(parts[i]);
  return {};
}

Status Evaluator::execute_set(const Statement& statement) {
  if (statement.kind == Statement::Kind::kSet) {
    MLXN_ASSIGN(Value value, evaluate(*statement.expression));
    return assign(statement, std::move(value));
  }
  MLXN_ASSIGN(std::string text, capture(statement.body));
  MLXN_ASSIGN(Value value, through_filters(statement.expression.get(), Value(std::move(text))));
  return assign(statement, std::move(value));
}

Status Evaluator::assign(const Statement& statement, Value value) {
  if (statement.text.empty()) return bind(statement.at, statement.names, value);
  const Value* target = lookup(statement.text);
  const Value::Handle* handle = target ? target->handle() : nullptr;
  if (!handle || handle->kind != Value::Handle::Kind::kNamespace)
    return fail(statement.at,
                str("'", statement.text, "' is ", target ? kind_name(*target) : "undefined",
                    ", expected a namespace"));
  namespaces_[handle->index][statement.names[0]] = std::move(value);
  return {};
}

Status Evaluator::define_macro(const Statement& statement) {
  const auto index = static_cast<uint32_t>(macros_.size());
  macros_.push_back(&statement);
  frames_[frame_].names[statement.text] = Value(Value::Handle{Value::Handle::Kind::kMacro, index});
  return {};
}

Result<std::string> Evaluator::capture(const Body& body) {
  std::string text;
  std::string* outer = std::exchange(out_, &text);
  const Scope scope(*this, frame_);
  auto flow = execute(body);
  out_ = outer;
  if (!flow) return std::move(flow).error();
  return text;
}

Result<Value> Evaluator::through_filters(const Expression* filters, Value value) {
  if (!filters) return value;
  MLXN_ASSIGN(const Value inner, through_filters(filters->children[0].get(), std::move(value)));
  MLXN_ASSIGN(const Arguments arguments, arguments_of(*filters, filters->text));
  return filter(inner, arguments);
}

const Value* Evaluator::lookup(const std::string& name) const {
  for (size_t at = frame_;; at = frames_[at].parent) {
    const auto found = frames_[at].names.find(name);
    if (found != frames_[at].names.end()) return &found->second;
    if (at == 0) return nullptr;
  }
}

}  // namespace mlxn::text::detail
