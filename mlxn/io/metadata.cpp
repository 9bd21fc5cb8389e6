#include "mlxn/io/metadata.h"

#include <array>
#include <utility>

#include "mlxn/base/strings.h"

namespace mlxn::io {
namespace {

std::string describe(const MetaValue& value) {
  if (const MetaArray* array = value.array())
    return str("an array of ", array->size(), " values of type ", to_string(array->type));
  return str("a value of type ", to_string(value.type));
}

Error wrong_kind(std::string_view name, const MetaValue& value, std::string_view expected) {
  return Error(ErrorCode::kCorruptData,
               str("metadata '", name, "' is ", describe(value), ", expected ", expected));
}

Result<uint64_t> as_unsigned(std::string_view name, const MetaValue& value) {
  if (const auto* plain = std::get_if<uint64_t>(&value.data)) return *plain;
  if (const auto* number = std::get_if<int64_t>(&value.data)) {
    if (*number >= 0) return static_cast<uint64_t>(*number);
    return Error(ErrorCode::kCorruptData,
                 str("metadata '", name, "' is ", *number, ", expected zero or more"));
  }
  return wrong_kind(name, value, "an integer");
}

Result<double> as_number(std::string_view name, const MetaValue& value) {
  if (const auto* number = std::get_if<double>(&value.data)) return *number;
  if (const auto* number = std::get_if<uint64_t>(&value.data)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<int64_t>(&value.data)) return static_cast<double>(*number);
  return wrong_kind(name, value, "a number");
}

Result<bool> as_flag(std::string_view name, const MetaValue& value) {
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag;
  return wrong_kind(name, value, "a truth value");
}

Result<std::string> as_text(std::string_view name, const MetaValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  return wrong_kind(name, value, "a string");
}

template <class To, class From>
std::vector<To> converted(const std::vector<From>& from) {
  return std::vector<To>(from.begin(), from.end());
}

}  // namespace

std::string_view to_string(MetaType type) {
  constexpr std::array<std::string_view, 13> kNames = {"u8",  "i8",  "u16",  "i16",    "u32",
                                                       "i32", "f32", "bool", "string", "array",
                                                       "u64", "i64", "f64"};
  const auto index = static_cast<size_t>(type);
  return index < kNames.size() ? kNames[index] : "unknown";
}

uint64_t MetaArray::size() const {
  return std::visit([](const auto& list) { return uint64_t{list.size()}; }, elements);
}

Status Metadata::add(std::string name, MetaValue value) {
  if (!index_.emplace(name, entries_.size()).second)
    return Error(ErrorCode::kCorruptData, str("metadata '", name, "' is there twice"));
  entries_.emplace_back(std::move(name), std::move(value));
  return {};
}

const MetaValue* Metadata::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

// A lookup in both forms: the name must be there, or a fallback is given back.
#define MLXN_LOOKUP(type, function, convert, fallback_type)                              \
  Result<type> Metadata::function(std::string_view name) const {                         \
    if (const MetaValue* value = find(name)) return convert(name, *value);               \
    return Error(ErrorCode::kCorruptData, str("metadata '", name, "' is missing"));      \
  }                                                                                      \
  Result<type> Metadata::function(std::string_view name, fallback_type fallback) const { \
    const MetaValue* value = find(name);                                                 \
    return value ? convert(name, *value) : Result<type>(type(fallback));                 \
  }
MLXN_LOOKUP(uint64_t, unsigned_integer, as_unsigned, uint64_t)
MLXN_LOOKUP(double, number, as_number, double)
MLXN_LOOKUP(std::string, text, as_text, std::string_view)
#undef MLXN_LOOKUP

Result<bool> Metadata::flag(std::string_view name, bool fallback) const {
  const MetaValue* value = find(name);
  return value ? as_flag(name, *value) : Result<bool>(fallback);
}

Result<std::span<const std::string>> Metadata::texts(std::string_view name) const {
  const MetaValue* value = find(name);
  if (!value) return Error(ErrorCode::kCorruptData, str("metadata '", name, "' is missing"));
  const MetaArray* array = value->array();
  const auto* list = array ? std::get_if<std::vector<std::string>>(&array->elements) : nullptr;
  if (!list) return wrong_kind(name, *value, "an array of strings");
  return std::span<const std::string>(*list);
}

Result<std::vector<int64_t>> Metadata::integers(std::string_view name) const {
  const MetaValue* value = find(name);
  if (!value) return Error(ErrorCode::kCorruptData, str("metadata '", name, "' is missing"));
  if (const MetaArray* array = value->array()) {
    if (const auto* list = std::get_if<std::vector<int64_t>>(&array->elements)) return *list;
    if (const auto* list = std::get_if<std::vector<uint64_t>>(&array->elements)) {
      for (uint64_t one : *list) {
        if (!std::in_range<int64_t>(one))
          return Error(ErrorCode::kCorruptData,
                       str("metadata '", name, "' holds ", one, ", expected at most 2^63 - 1"));
      }
      return converted<int64_t>(*list);
    }
  }
  return wrong_kind(name, *value, "an array of integers");
}

Result<std::vector<double>> Metadata::numbers(std::string_view name) const {
  const MetaValue* value = find(name);
  if (!value) return Error(ErrorCode::kCorruptData, str("metadata '", name, "' is missing"));
  if (const MetaArray* array = value->array()) {
    if (const auto* list = std::get_if<std::vector<double>>(&array->elements)) return *list;
    if (const auto* list = std::get_if<std::vector<int64_t>>(&array->elements))
      return converted<double>(*list);
    if (const auto* list = std::get_if<std::vector<uint64_t>>(&array->elements))
      return converted<double>(*list);
  }
  return wrong_kind(name, *value, "an array of numbers");
}

}  // namespace mlxn::io
