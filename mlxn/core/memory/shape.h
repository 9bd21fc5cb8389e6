#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "mlxn/base/array_ref.h"
#include "mlxn/base/dtype.h"
#include "mlxn/base/result.h"

namespace mlxn {

// Sizes of a tensor's dimensions, outermost first. No dimension at all means one element.
class Shape {
 public:
  static constexpr size_t kMaxDimensions = 8;

  Shape() = default;
  // Braces at the call; more than kMaxDimensions make the shape invalid, which allocation reports.
  Shape(std::initializer_list<uint64_t> sizes) : Shape(ArrayRef<uint64_t>(sizes)) {}
  explicit Shape(ArrayRef<uint64_t> sizes);

  bool valid() const { return count_ <= kMaxDimensions; }
  size_t size() const { return valid() ? count_ : kMaxDimensions; }
  uint64_t operator[](size_t i) const { return sizes_[i]; }
  const uint64_t* begin() const { return sizes_.data(); }
  const uint64_t* end() const { return sizes_.data() + size(); }
  Result<uint64_t> element_count() const;  // fails on overflow and on an invalid shape
  std::string to_string() const;           // "[2, 3]"

  friend bool operator==(const Shape& a, const Shape& b);

 private:
  size_t count_ = 0;
  std::array<uint64_t, kMaxDimensions> sizes_ = {};
};

// Bytes of a tensor of this type and shape.
Result<uint64_t> size_bytes(Dtype dtype, const Shape& shape);

}  // namespace mlxn
