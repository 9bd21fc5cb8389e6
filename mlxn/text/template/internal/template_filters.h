// What filters of templates share.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mlxn/text/template/internal/template_evaluator.h"

namespace mlxn::text::detail {

struct FilterCall {
  Evaluator& evaluator;
  const Value& input;
  const Arguments& arguments;

  Status check(size_t most, std::initializer_list<std::string_view> names) const {
    return evaluator.check_arguments(arguments, most, names);
  }
  Result<Value> made(Value value) const { return evaluator.made(arguments.at, std::move(value)); }
  Result<std::string> text() const { return evaluator.print(arguments.at, input); }
  Result<ValueList> items() const { return evaluator.items_of(arguments.at, input); }
  Error fail(std::string_view message) const { return evaluator.fail(arguments.at, message); }
};

struct FilterRow {
  std::string_view name;
  Result<Value> (*filter)(const FilterCall&);
};

std::span<const FilterRow> list_filters();

}  // namespace mlxn::text::detail
