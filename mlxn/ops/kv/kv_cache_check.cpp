#include "mlxn/ops/kv/kv_cache_check.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/kv/kv_write.h"

namespace mlxn {

Result<KvCacheSizes> check_kv_cache(std::string_view op, const Buffer& keys, const Buffer& values) {
  MLXN_TRY(check_present(op, "key cache", keys));
  const Shape& shape = keys.shape();
  const Dtype dtype = keys.dtype();
  if (dtype != Dtype::kF32 && dtype != Dtype::kF16 && dtype != Dtype::kQ8_0) {
    return Error(ErrorCode::kDtypeMismatch,
                 str(op, ": key cache is ", to_string(dtype), ", expected f32, f16 or q8_0"));
  }
  if (shape.size() != 4 || shape[2] % kKvTile != 0 || shape[3] % 2 != 0) {
    return Error(ErrorCode::kShapeMismatch,
                 str(op, ": key cache has shape ", shape.to_string(),
                     ", expected [sequences, heads, capacity, dim] with a capacity that is a ",
                     "multiple of ", kKvTile, " and an even dim"));
  }
  if (const uint32_t block = info(dtype).block_elements; shape[3] % block != 0) {
    return Error(ErrorCode::kShapeMismatch,
                 str(op, ": key cache is ", to_string(dtype), " with heads of ", shape[3],
                     " elements, expected a multiple of ", block));
  }
  MLXN_TRY(check_argument(values, ExpectedShape{op, "value cache", dtype, shape}));
  uint32_t sizes[4];
  for (size_t i = 0; i < 4; ++i) {
    MLXN_ASSIGN(sizes[i], fits_32_bits(op, "elements of a cache's dimension", shape[i]));
  }
  return KvCacheSizes{sizes[0], sizes[1], sizes[2], sizes[3]};
}

}  // namespace mlxn
