#include "mlxn/ops/turboquant/tq_cache.h"

#include <bit>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/turboquant/tq_args.h"

namespace mlxn {

Result<uint64_t> check_tq_cache(std::string_view op, std::string_view name, const TqCache& cache,
                                uint64_t heads) {
  const bool known = cache.bits == 4 || cache.bits == 5 || cache.bits == 6 || cache.bits == 8;
  if (!known || !std::has_single_bit(cache.dim) || cache.dim < 64 || cache.dim > 512) {
    return Error(ErrorCode::kInvalidArgument,
                 str(op, ": ", cache.bits, " bits for heads of ", cache.dim,
                     " elements, expected 4, 5, 6 or 8 for 64, 128, 256 or 512"));
  }
  const std::string codes = str(name, "codes"), norms = str(name, "norms");
  MLXN_TRY(check_present(op, codes, cache.codes));
  const Shape& shape = cache.codes.shape();
  const auto dim = static_cast<uint32_t>(cache.dim);
  const uint64_t capacity = shape.size() == 3 ? shape[1] : 1;
  MLXN_TRY(check_argument(
      cache.codes,
      ExpectedShape{op, codes, Dtype::kU8, {heads, capacity, tq_bytes(dim, cache.bits)}}));
  MLXN_TRY(check_argument(cache.norms,
                          ExpectedShape{op, norms, Dtype::kF32, {heads, capacity, tq_norms(dim)}}));
  return capacity;
}

Result<float> tq_scale_factor(std::string_view op, float scale_factor) {
  if (std::isfinite(scale_factor)) return scale_factor < 1e-6f ? 1.0f : scale_factor;
  return Error(ErrorCode::kInvalidArgument,
               str(op, ": scale factor ", scale_factor, ", expected a finite number"));
}

}  // namespace mlxn
