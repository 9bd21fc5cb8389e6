#include "mlxn/ops/kv/kv_write.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/kv/kv_cache_check.h"
#include "mlxn/ops/kv/kv_write_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "kv_write";

struct Sizes {
  uint32_t tokens;
  KvCacheSizes cache;
};

Result<Sizes> check(const KvWriteParams& params) {
  MLXN_ASSIGN(const KvCacheSizes cache, check_kv_cache(kOp, params.key_cache, params.value_cache));
  MLXN_TRY(check_present(kOp, "keys", params.keys));
  MLXN_ASSIGN(
      const uint32_t tokens,
      fits_32_bits(kOp, "tokens", params.keys.shape().size() == 0 ? 0 : params.keys.shape()[0]));
  const Shape rows = {tokens, cache.heads, cache.dim};
  MLXN_TRY(check_argument(params.keys, ExpectedShape{kOp, "keys", Dtype::kF32, rows}));
  MLXN_TRY(check_argument(params.values, ExpectedShape{kOp, "values", Dtype::kF32, rows}));
  MLXN_TRY(check_argument(params.positions, {kOp, "positions", Dtype::kU32, tokens}));
  MLXN_TRY(check_argument(params.sequences, {kOp, "sequences", Dtype::kU32, tokens}));
  const uint64_t room = uint64_t{cache.sequences} * cache.capacity;
  if (tokens > room) {
    return Error(ErrorCode::kOutOfRange,
                 str(kOp, ": ", tokens, " tokens for a cache of ", room, " positions"));
  }
  return Sizes{tokens, cache};
}

Status check_memory(const KvWriteParams& params) {
  MLXN_TRY(check_apart(kOp, params.key_cache, params.value_cache, "value cache"));
  const std::pair<const Buffer*, const char*> inputs[] = {{&params.keys, "keys"},
                                                          {&params.values, "values"},
                                                          {&params.positions, "positions"},
                                                          {&params.sequences, "sequences"}};
  for (const auto& [input, name] : inputs) {
    MLXN_TRY(check_apart(kOp, params.key_cache, *input, name));
    MLXN_TRY(check_apart(kOp, params.value_cache, *input, name));
  }
  return {};
}

}  // namespace

Status kv_write(ComputeEncoder& encoder, const KvWriteParams& params) {
  MLXN_ASSIGN(const Sizes sizes, check(params));
  MLXN_TRY(check_memory(params));
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, params.key_cache.dtype()));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const KvWriteArgs args = {sizes.cache.sequences, sizes.cache.heads, sizes.cache.capacity,
                            sizes.cache.dim};
  return encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = {{0, params.keys},
                    {1, params.values},
                    {2, params.positions},
                    {3, params.sequences},
                    {4, params.key_cache},
                    {5, params.value_cache},
                    {6, as_bytes(args)}},
       .grid = {sizes.cache.dim, sizes.cache.heads, sizes.tokens},
       .threadgroup = {32, 1, 1},
       .kind = DispatchKind::kThreads,
       .declared = true,
       .reads = {&params.keys, &params.values, &params.positions, &params.sequences},
       .writes = {&params.key_cache, &params.value_cache}});
}

}  // namespace mlxn
