#include "mlxn/ops/common/float_type.h"

#include "mlxn/base/strings.h"

namespace mlxn {

Result<uint32_t> float_type(std::string_view op, std::string_view name, Dtype dtype) {
  if (dtype == Dtype::kF32) return 0u;
  if (dtype == Dtype::kF16) return 1u;
  if (dtype == Dtype::kBf16) return 2u;
  return Error(ErrorCode::kDtypeMismatch,
               str(op, ": ", name, " is ", to_string(dtype), ", expected f32, f16 or bf16"));
}

}  // namespace mlxn
