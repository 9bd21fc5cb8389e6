// What a model file says about itself: names with typed values.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mlxn/base/result.h"

namespace mlxn::io {

// Element types, with the numbers GGUF gives them.
enum class MetaType : uint32_t {
  kU8 = 0,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
};
std::string_view to_string(MetaType type);  // "u8", ..., "string", "array"

// All elements have one type. Nested arrays are elements of type kArray.
struct MetaArray {
  using Elements =
      std::variant<std::vector<bool>, std::vector<uint64_t>, std::vector<int64_t>,
                   std::vector<double>, std::vector<std::string>, std::vector<MetaArray>>;
  MetaType type = MetaType::kU8;
  Elements elements;
  uint64_t size() const;
};

// One value. Integers are kept in 64 bits of their own signedness, floating point as double.
struct MetaValue {
  MetaType type = MetaType::kBool;
  std::variant<bool, uint64_t, int64_t, double, std::string, MetaArray> data = false;
  const MetaArray* array() const { return std::get_if<MetaArray>(&data); }  // null: a scalar
};

// Names in the order of the file. Lookups fail with kCorruptData when the name is missing or the
// value has another kind, and say what was found; the forms with a fallback give it back when the
// name is missing only. Integers convert between widths and signedness where the value fits, a
// whole number is accepted where a floating-point one is asked for.
class Metadata {
 public:
  // kCorruptData when the name is there already.
  Status add(std::string name, MetaValue value);

  const MetaValue* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::span<const std::pair<std::string, MetaValue>> entries() const { return entries_; }

  Result<uint64_t> unsigned_integer(std::string_view name) const;
  Result<uint64_t> unsigned_integer(std::string_view name, uint64_t fallback) const;
  Result<double> number(std::string_view name) const;
  Result<double> number(std::string_view name, double fallback) const;
  Result<bool> flag(std::string_view name, bool fallback) const;
  Result<std::string> text(std::string_view name) const;
  Result<std::string> text(std::string_view name, std::string_view fallback) const;
  // Arrays; the spans live as long as this object and until the next add().
  Result<std::span<const std::string>> texts(std::string_view name) const;
  Result<std::vector<int64_t>> integers(std::string_view name) const;
  Result<std::vector<double>> numbers(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, MetaValue>> entries_;
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace mlxn::io
