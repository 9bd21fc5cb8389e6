// Plain data for templates: what JSON can say, plus whole numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mlxn/base/result.h"

namespace mlxn::text {

class Value;
using ValueList = std::vector<Value>;
using ValueDict = std::vector<std::pair<std::string, Value>>;  // in the order of insertion

// A value never changes; copies share lists and dictionaries. Nesting is limited to kMaxDepth.
class Value {
 public:
  static constexpr int kMaxDepth = 64;

  Value() = default;  // none
  Value(bool value) : data_(value) {}
  Value(int value) : data_(int64_t{value}) {}
  Value(int64_t value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(const char* value) : data_(std::string(value)) {}
  Value(std::string_view value) : data_(std::string(value)) {}
  Value(std::string value) : data_(std::move(value)) {}
  Value(ValueList value);
  Value(ValueDict value);  // of equal names the last counts

  bool is_none() const { return std::holds_alternative<std::monostate>(data_); }
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const int64_t* integer() const { return std::get_if<int64_t>(&data_); }
  const double* floating() const { return std::get_if<double>(&data_); }
  const std::string* string() const { return std::get_if<std::string>(&data_); }
  const ValueList* list() const;
  const ValueDict* dict() const;
  const Value* find(std::string_view name) const;  // null: not a dictionary, or no such name
  int depth() const;                               // 0 for scalars

 private:
  struct List;
  struct Dict;
  std::variant<std::monostate, bool, int64_t, double, std::string, std::shared_ptr<const List>,
               std::shared_ptr<const Dict>>
      data_;
};

// kCorruptData with the offset of the first error. Numbers without fraction or exponent that fit
// are integers.
Result<Value> parse_json(std::string_view text);

}  // namespace mlxn::text
