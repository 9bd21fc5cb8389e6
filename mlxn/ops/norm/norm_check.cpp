#include "mlxn/ops/norm/norm_check.h"

#include "mlxn/base/strings.h"

namespace mlxn {

Dtype weight_dtype_of(Dtype data) {
  return data == Dtype::kF16 ? Dtype::kF32 : data;
}

Status check_norm_dim(std::string_view op, uint64_t dim) {
  constexpr uint64_t kMost = 1u << 24;
  if (dim <= kMost) return {};
  return Error(ErrorCode::kOutOfRange,
               str(op, ": rows of ", dim, " elements, expected at most ", kMost));
}

}  // namespace mlxn
