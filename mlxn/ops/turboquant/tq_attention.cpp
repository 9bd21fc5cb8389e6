#include "mlxn/ops/turboquant/tq_attention.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/float_type.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/op_kind.h"
#include "mlxn/ops/turboquant/tq_attention_args.h"
#include "mlxn/ops/turboquant/tq_cache.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "tq_attention";

// Queries and output alike, and both caches.
Status check_tensors(const TqAttentionParams& params, TqAttentionArgs& args) {
  const Buffer &queries = params.queries, &output = params.output;
  MLXN_TRY(check_present(kOp, "queries", queries));
  MLXN_ASSIGN(args.sdpa.query_type, float_type(kOp, "queries", queries.dtype()));
  MLXN_ASSIGN(const Matrix sizes, matrix_of(kOp, "queries", queries));
  MLXN_TRY(check_present(kOp, "output", output));
  MLXN_ASSIGN(args.sdpa.output_type, float_type(kOp, "output", output.dtype()));
  MLXN_TRY(check_argument(output, ExpectedShape{kOp, "output", output.dtype(), queries.shape()}));
  MLXN_TRY(check_present(kOp, "key codes", params.key_codes));
  const Shape& codes = params.key_codes.shape();
  const uint64_t kv_heads = codes[0];
  if (codes.size() != 3 || sizes.rows % kv_heads != 0) {
    return Error(
        ErrorCode::kShapeMismatch,
        str(kOp, ": key codes has shape ", codes.to_string(), ", expected three dimensions",
            " with heads that divide the ", sizes.rows, " of queries"));
  }
  MLXN_ASSIGN(
      const uint64_t capacity,
      check_tq_cache(kOp, "key ", {params.key_codes, params.key_norms, params.bits, sizes.columns},
                     kv_heads));
  MLXN_TRY(
      check_argument(params.value_codes, ExpectedShape{kOp, "value codes", Dtype::kU8, codes}));
  MLXN_TRY(check_argument(params.value_norms, ExpectedShape{kOp, "value norms", Dtype::kF32,
                                                            params.key_norms.shape()}));
  MLXN_ASSIGN(args.capacity, fits_32_bits(kOp, "rows of a cache", capacity));
  MLXN_ASSIGN(args.sdpa.kv_heads, fits_32_bits(kOp, "heads", kv_heads));
  MLXN_ASSIGN(args.sdpa.share, fits_32_bits(kOp, "heads of queries", sizes.rows / kv_heads));
  args.sdpa.dim = args.sdpa.value_dim = sizes.columns;
  args.sdpa.query = args.sdpa.output = {0, sizes.columns, 0};
  return {};
}

Status check_numbers(const TqAttentionParams& params, TqAttentionArgs& args) {
  const uint64_t capacity = args.capacity, length = params.length ? params.length : capacity;
  if (capacity > UINT32_MAX / 2 || length > capacity || params.ring_start >= capacity) {
    return Error(ErrorCode::kOutOfRange, str(kOp, ": ", length, " keys, the oldest in row ",
                                             params.ring_start, ", expected both within ", capacity,
                                             " rows, which are at most ", UINT32_MAX / 2));
  }
  if (!std::isfinite(params.scale) || !std::isfinite(params.soft_cap) || params.soft_cap < 0) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": scale ", params.scale, " and soft cap ", params.soft_cap,
                     ", expected finite numbers, the second not negative"));
  }
  MLXN_ASSIGN(args.scale_factor, tq_scale_factor(kOp, params.scale_factor));
  args.ring_start = static_cast<uint32_t>(params.ring_start);
  args.hidden = params.window != 0 && params.window < length
                    ? static_cast<uint32_t>(length - params.window)
                    : 0;
  args.bits = params.bits;
  args.sdpa.keys = static_cast<uint32_t>(length);
  args.sdpa.queries = 1;
  args.sdpa.mask_type = 4;  // none
  args.sdpa.soft_cap = params.soft_cap;
  args.sdpa.scale =
      params.scale != 0 ? params.scale : 1 / std::sqrt(static_cast<float>(args.sdpa.dim));
  return {};
}

}  // namespace

Status tq_attention(ComputeEncoder& encoder, const TqAttentionParams& params) {
  TqAttentionArgs args = {};
  MLXN_TRY(check_tensors(params, args));
  MLXN_TRY(check_numbers(params, args));
  const std::pair<const Buffer*, const char*> inputs[] = {{&params.queries, "queries"},
                                                          {&params.key_codes, "key codes"},
                                                          {&params.key_norms, "key norms"},
                                                          {&params.value_codes, "value codes"},
                                                          {&params.value_norms, "value norms"}};
  std::vector<Binding> bindings;
  std::vector<const Buffer*> reads;
  for (const auto& [input, name] : inputs) {
    MLXN_TRY(check_apart(kOp, params.output, *input, name));
    bindings.push_back({static_cast<uint32_t>(bindings.size()), *input});
    reads.push_back(input);
  }
  bindings.push_back({5, params.output});
  bindings.push_back({6, as_bytes(args)});
  const uint32_t at_once = args.sdpa.share == 1 ? 1 : 4;
  const std::string kernel =
      str(kOp, "_", at_once, "_", args.sdpa.dim <= 256 ? 256 : 512, "_", params.bits == 4 ? 4 : 8);
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const Buffer* writes[] = {&params.output};
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = bindings,
                           .grid = {(args.sdpa.share - 1) / at_once + 1, args.sdpa.kv_heads, 1},
                           .threadgroup = {kSdpaThreads, 1, 1},
                           .kind = DispatchKind::kThreadgroups,
                           .declared = true,
                           .reads = reads,
                           .writes = writes,
                           .op = OpKind::kSdpa});
}

}  // namespace mlxn
