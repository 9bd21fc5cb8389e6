#include "mlxn/core/memory/shape.h"

#include <algorithm>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"

namespace mlxn {

Shape::Shape(ArrayRef<uint64_t> sizes) : count_(sizes.size()) {
  std::copy_n(sizes.begin(), size(), sizes_.begin());
}

Result<uint64_t> Shape::element_count() const {
  if (!valid()) {
    return Error(ErrorCode::kInvalidArgument,
                 str("shape with ", count_, " dimensions, expected at most ", kMaxDimensions));
  }
  uint64_t count = 1;
  for (uint64_t size : *this) {
    auto product = checked_mul(count, size);
    if (!product) return product.error().add_context(str("shape ", to_string()));
    count = *product;
  }
  return count;
}

std::string Shape::to_string() const {
  std::string out = "[";
  for (size_t i = 0; i < size(); ++i) out += str(i ? ", " : "", sizes_[i]);
  return out + (valid() ? "]" : ", ...]");
}

bool operator==(const Shape& a, const Shape& b) {
  return a.count_ == b.count_ && std::equal(a.begin(), a.end(), b.begin());
}

Result<uint64_t> size_bytes(Dtype dtype, const Shape& shape) {
  MLXN_ASSIGN(const uint64_t elements, shape.element_count());
  return size_bytes(dtype, elements);
}

}  // namespace mlxn
