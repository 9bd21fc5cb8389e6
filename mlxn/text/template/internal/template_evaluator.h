// Runs a parsed template over plain data, within limits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mlxn/text/template/internal/template_ast.h"

namespace mlxn::text::detail {

// What a filter, test, method or function was called with.
struct Arguments {
  Position at;
  std::string_view callee;
  std::vector<Value> plain = {};
  std::vector<std::pair<std::string, Value>> named = {};

  // The argument at a place or of a name; null: not given.
  const Value* find(size_t place, std::string_view name) const;
};

class Evaluator {
 public:
  Evaluator(const TemplateProgram& program, const ValueDict& variables, std::optional<int64_t> now);
  Result<std::string> run();

  // For filters, tests and methods, which lie in files of their own.
  Error fail(Position at, std::string_view message) const;
  Status charge(Position at, uint64_t bytes);    // one step for each 64 bytes
  Result<Value> made(Position at, Value value);  // charges for it and checks its depth
  Result<ValueList> items_of(Position at, const Value& value);  // what a loop over it sees
  Result<Value> attribute(Position at, const Value& value, std::string_view name);
  Result<Value> item(Position at, const Value& value, const Value& index);
  Result<std::string> print(Position at, const Value& value);
  Result<Value> filter(const Value& input, const Arguments& arguments);
  Result<bool> test(const Value& input, const Arguments& arguments);
  Result<bool> contains(Position at, const Value& container, const Value& value);
  Result<bool> order(Position at, std::string_view name, const Value& left, const Value& right);
  // Text arguments, and whole numbers; errors say what was found.
  Result<std::string> text_argument(const Arguments& arguments, size_t place,
                                    std::string_view name);
  Result<int64_t> integer_argument(const Arguments& arguments, size_t place, std::string_view name,
                                   int64_t fallback);
  // Fails when there are more plain arguments than `most`, or names not in the list.
  Status check_arguments(const Arguments& arguments, size_t most,
                         std::initializer_list<std::string_view> names);

 private:
  enum class Flow { kNext, kBreak, kContinue };
  struct Frame {
    std::unordered_map<std::string, Value> names;
    size_t parent;
  };
  struct Loop {
    uint32_t serial;
    const ValueList* items;
    size_t index;
  };
  class Depth;
  class Scope;

  Status step(Position at);
  Status append(Position at, std::string_view text);

  // Statements.
  Result<Flow> execute(const Body& body);
  Result<Flow> execute(const Statement& statement);
  Result<Flow> execute_for(const Statement& statement);
  Result<ValueList> select_items(const Statement& statement, ValueList items);
  Status execute_set(const Statement& statement);
  Status assign(const Statement& statement, Value value);
  Status bind(Position at, const std::vector<std::string>& names, const Value& value);
  Status define_macro(const Statement& statement);
  Result<std::string> capture(const Body& body);
  // Runs the filters around a null expression.
  Result<Value> through_filters(const Expression* filters, Value value);

  // Expressions.
  Result<Value> evaluate(const Expression& node);
  Result<Value> evaluate_name(const Expression& node);
  Result<Value> evaluate_logic(const Expression& node);
  Result<Value> evaluate_slice(const Expression& node);
  Result<Value> evaluate_call(const Expression& node);
  Result<Value> evaluate_filter(const Expression& node);
  Result<Value> evaluate_test(const Expression& node);
  Result<Value> evaluate_arithmetic(const Expression& node);
  Result<Value> evaluate_compare(const Expression& node);
  Result<Value> evaluate_concat(const Expression& node);
  Result<Value> evaluate_items(const Expression& node);
  Result<Value> evaluate_dict(const Expression& node);
  Result<Value> arithmetic(Position at, std::string_view name, const Value& left,
                           const Value& right);
  Result<Value> integer_arithmetic(Position at, std::string_view name, int64_t left, int64_t right);
  Result<Value> repeated(Position at, const Value& value, int64_t times);
  Result<Arguments> arguments_of(const Expression& node, std::string_view callee);

  // Calls.
  Result<Value> call_loop(const Value& loop, const Arguments& arguments);
  Result<Value> call_macro(uint32_t index, const Arguments& arguments);
  Result<Value> call_function(uint32_t index, const Arguments& arguments);
  Result<Value> call_range(const Arguments& arguments);
  Result<Value> loop_attribute(const Value& loop, std::string_view name);

  const Value* lookup(const std::string& name) const;

  const TemplateProgram& program_;
  std::optional<int64_t> now_;
  uint64_t steps_ = 0;
  uint32_t depth_ = 0;
  std::vector<Frame> frames_;
  size_t frame_ = 0;
  std::vector<Loop> loops_;
  uint32_t loop_serial_ = 0;
  std::vector<std::map<std::string, Value, std::less<>>> namespaces_;
  std::vector<const Statement*> macros_;
  std::string* out_ = nullptr;
};

// Methods of strings, lists and dictionaries (template_methods.cpp).
bool is_method(const Value& object, std::string_view name);
Result<Value> apply_method(Evaluator& evaluator, const Value& object, const Arguments& arguments);

}  // namespace mlxn::text::detail
