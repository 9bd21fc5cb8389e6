#include "mlxn/ops/kv/kv_write.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/kv/kv_cache_check.h"
#include "mlxn/ops/kv/kv_write_args.h"
#include "mlxn/ops/op_kind.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "kv_write";

Status check_memory(std::string_view op, const KvWriteParams& params) {
  MLXN_TRY(check_apart(op, params.key_cache, params.value_cache, "value cache"));
  const std::pair<const Buffer*, const char*> inputs[] = {{&params.keys, "keys"},
                                                          {&params.values, "values"},
                                                          {&params.positions, "positions"},
                                                          {&params.sequences, "sequences"}};
  for (const auto& [input, name] : inputs) {
    MLXN_TRY(check_apart(op, params.key_cache, *input, name));
    MLXN_TRY(check_apart(op, params.value_cache, *input, name));
  }
  return {};
}

}  // namespace

Result<KvWriteSizes> check_kv_write(std::string_view op, const KvWriteParams& params) {
  MLXN_ASSIGN(const KvCacheSizes cache, check_kv_cache(op, params.key_cache, params.value_cache));
  MLXN_TRY(check_present(op, "keys", params.keys));
  MLXN_ASSIGN(
      const uint32_t tokens,
      fits_32_bits(op, "tokens", params.keys.shape().size() == 0 ? 0 : params.keys.shape()[0]));
  const Shape rows = {tokens, cache.heads, cache.dim};
  MLXN_TRY(check_argument(params.keys, ExpectedShape{op, "keys", Dtype::kF32, rows}));
  MLXN_TRY(check_argument(params.values, ExpectedShape{op, "values", Dtype::kF32, rows}));
  MLXN_TRY(check_argument(params.positions, {op, "positions", Dtype::kU32, tokens}));
  MLXN_TRY(check_argument(params.sequences, {op, "sequences", Dtype::kU32, tokens}));
  const uint64_t room = uint64_t{cache.sequences} * cache.capacity;
  if (tokens > room) {
    return Error(ErrorCode::kOutOfRange,
                 str(op, ": ", tokens, " tokens for a cache of ", room, " positions"));
  }
  MLXN_TRY(check_memory(op, params));
  return KvWriteSizes{tokens, {cache.sequences, cache.heads, cache.capacity, cache.dim}};
}

Status dispatch_kv_write(ComputeEncoder& encoder, const KvWriteSizes& sizes, Dispatch dispatch) {
  dispatch.grid = {sizes.args.heads, sizes.tokens, 1};
  dispatch.threadgroup = {kKvTile, 1, 1};
  dispatch.kind = DispatchKind::kThreadgroups;
  dispatch.declared = true;
  return encoder.dispatch(dispatch);
}

Status kv_write(ComputeEncoder& encoder, const KvWriteParams& params) {
  const auto& [keys, values, positions, sequences, key_cache, value_cache] = params;
  MLXN_ASSIGN(const KvWriteSizes sizes, check_kv_write(kOp, params));
  MLXN_ASSIGN(const std::string kernel, weight_kernel_name(kOp, key_cache.dtype()));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  return dispatch_kv_write(encoder, sizes,
                           {.pipeline = pipeline,
                            .bindings = {{0, keys},
                                         {1, values},
                                         {2, positions},
                                         {3, sequences},
                                         {4, key_cache},
                                         {5, value_cache},
                                         {6, as_bytes(sizes.args)}},
                            .reads = {&keys, &values, &positions, &sequences},
                            .writes = {&key_cache, &value_cache},
                            .op = OpKind::kKvWrite});
}

}  // namespace mlxn
