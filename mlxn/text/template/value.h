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

// A value never changes; copies share text, lists and dictionaries. Templates make none that nest
// deeper than kMaxDepth.
class Value {
 public:
  static constexpr int kMaxDepth = 64;

  // What a running template has besides data: an entry in a table of the interpreter. Never an
  // object of the host.
  struct Handle {
    enum class Kind : uint8_t { kUndefined, kNamespace, kMacro, kLoop, kFunction, kMethod };
    Kind kind = Kind::kUndefined;
    uint32_t index = 0;
    bool operator==(const Handle&) const = default;
  };

  Value() = default;  // none
  Value(bool value) : data_(value) {}
  Value(int value) : data_(int64_t{value}) {}
  Value(int64_t value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(const char* value) : Value(std::string(value)) {}
  Value(std::string_view value) : Value(std::string(value)) {}
  Value(std::string value) : data_(std::make_shared<const std::string>(std::move(value))) {}
  Value(ValueList value);
  Value(ValueDict value);  // of equal names the last counts
  Value(Handle handle) : data_(handle) {}
  static Value tuple(ValueList values);  // a list that prints as (a, b)

  bool is_none() const { return std::holds_alternative<std::monostate>(data_); }
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const int64_t* integer() const { return std::get_if<int64_t>(&data_); }
  const double* floating() const { return std::get_if<double>(&data_); }
  const std::string* string() const {
    const auto* text = std::get_if<std::shared_ptr<const std::string>>(&data_);
    return text ? text->get() : nullptr;
  }
  const Handle* handle() const { return std::get_if<Handle>(&data_); }
  bool is_undefined() const { return handle() && handle()->kind == Handle::Kind::kUndefined; }
  const ValueList* list() const;
  bool is_tuple() const;
  const ValueDict* dict() const;
  const Value* find(std::string_view name) const;  // null: not a dictionary, or no such name
  int depth() const;                               // 0 for scalars
  // About how many bytes it takes to spell the value out; shared parts count each time.
  uint64_t weight() const;

 private:
  struct List;
  struct Dict;
  std::variant<std::monostate, bool, int64_t, double, std::shared_ptr<const std::string>,
               std::shared_ptr<const List>, std::shared_ptr<const Dict>, Handle>
      data_;
};

// kCorruptData with the offset of the first error. Numbers without fraction or exponent that fit
// are integers.
Result<Value> parse_json(std::string_view text);

}  // namespace mlxn::text
