#include "mlxn/ops/kv/kv_copy.h"

#include <algorithm>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/float_type.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/kv/kv_copy_args.h"
#include "mlxn/ops/kv/kv_range.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "kv_copy";

Result<uint64_t> check_cache_dtype(const KvCopyParams& params) {
  MLXN_TRY(check_present(kOp, "key cache", params.key_cache));
  const Dtype dtype = params.key_cache.dtype();
  if (!info(dtype).is_float && dtype != Dtype::kQ8_0) {
    return Error(ErrorCode::kDtypeMismatch, str(kOp, ": key cache is ", to_string(dtype),
                                                ", expected f32, f16, bf16 or q8_0"));
  }
  const Shape& shape = params.key_cache.shape();
  if (shape.size() != 3) {
    return Error(ErrorCode::kShapeMismatch, str(kOp, ": key cache has shape ", shape.to_string(),
                                                ", expected three dimensions"));
  }
  return shape[params.layout == KvCopyLayout::kHeadsFirst ? 1 : 0];
}

// A source [tokens, heads, dim] and its cache.
Result<KvCopyPlace> check_pair(const KvCopyParams& params, bool is_value, uint64_t capacity) {
  const Buffer &source = is_value ? params.values : params.keys,
               &cache = is_value ? params.value_cache : params.key_cache;
  const char *name = is_value ? "values" : "keys",
             *cache_name = is_value ? "value cache" : "key cache";
  MLXN_TRY(check_present(kOp, name, source));
  MLXN_TRY(float_type(kOp, name, source.dtype()));
  const Shape& shape = source.shape();
  const uint32_t block = info(params.key_cache.dtype()).block_elements;
  if (shape.size() != 3 || shape[2] % block != 0) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": ", name, " has shape ", shape.to_string(),
                     ", expected [tokens, heads, dim] with a dim that is a multiple of ", block));
  }
  const Shape& keys = params.keys.shape();
  MLXN_TRY(check_argument(
      source, ExpectedShape{kOp, name, params.keys.dtype(), {keys[0], keys[1], shape[2]}}));
  const bool heads_first = params.layout == KvCopyLayout::kHeadsFirst;
  const Shape expected =
      heads_first ? Shape{shape[1], capacity, shape[2]} : Shape{capacity, shape[1], shape[2]};
  MLXN_TRY(
      check_argument(cache, ExpectedShape{kOp, cache_name, params.key_cache.dtype(), expected}));
  MLXN_ASSIGN(const uint32_t dim, fits_32_bits(kOp, "elements of a head", shape[2]));
  if (heads_first) return KvCopyPlace{dim, capacity * dim, dim};
  return KvCopyPlace{shape[1] * dim, dim, dim};
}

Status check_memory(const KvCopyParams& params) {
  for (const Buffer* cache : {&params.key_cache, &params.value_cache}) {
    MLXN_TRY(check_apart(kOp, *cache, params.keys, "keys"));
    MLXN_TRY(check_apart(kOp, *cache, params.values, "values"));
  }
  return check_apart(kOp, params.key_cache, params.value_cache, "value cache");
}

}  // namespace

Status kv_copy(ComputeEncoder& encoder, const KvCopyParams& params) {
  const auto& [keys, values, key_cache, value_cache, position, first, limit, ring, layout] = params;
  KvCopyArgs args = {};
  MLXN_ASSIGN(const uint64_t capacity, check_cache_dtype(params));
  MLXN_ASSIGN(args.key, check_pair(params, false, capacity));
  MLXN_ASSIGN(args.value, check_pair(params, true, capacity));
  MLXN_ASSIGN(args.heads, fits_32_bits(kOp, "heads", keys.shape()[1]));
  MLXN_ASSIGN(const KvRows rows,
              check_kv_range(kOp, {position, first, limit, ring}, keys.shape()[0], capacity));
  args.capacity = rows.capacity;
  args.first_token = rows.first_token;
  args.first_row = rows.first_row;
  MLXN_TRY(check_memory(params));
  const std::string kernel =
      str(kOp, "_", to_string(keys.dtype()), "_", to_string(key_cache.dtype()));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const bool blocks = key_cache.dtype() == Dtype::kQ8_0;
  const uint64_t width = std::max(args.key.dim, args.value.dim);
  return encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = {{0, keys}, {1, values}, {2, key_cache}, {3, value_cache}, {4, as_bytes(args)}},
       .grid = {blocks ? width / 32 : width, args.heads, 2 * uint64_t{rows.count}},
       .threadgroup = {blocks ? 32u : 64u, 1, 1},
       .kind = blocks ? DispatchKind::kThreadgroups : DispatchKind::kThreads,
       .declared = true,
       .reads = {&keys, &values},
       .writes = {&key_cache, &value_cache}});
}

}  // namespace mlxn
