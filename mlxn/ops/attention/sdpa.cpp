#include "mlxn/ops/attention/sdpa.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/attention/sdpa_args.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/float_type.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/op_kind.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "sdpa";
constexpr uint32_t kNoMask = 4, kBoolMask = 3;

// A tensor of four dimensions in either layout.
struct Heads {
  uint64_t batch, heads, rows, dim;

  static Heads of(const Shape& shape, SdpaLayout layout) {
    const bool first = layout == SdpaLayout::kHeadsFirst;
    return {shape[0], shape[first ? 1 : 2], shape[first ? 2 : 1], shape[3]};
  }
  Shape shape(SdpaLayout layout) const {
    if (layout == SdpaLayout::kHeadsFirst) return {batch, heads, rows, dim};
    return {batch, rows, heads, dim};
  }
  SdpaStrides strides(SdpaLayout layout) const {
    if (layout == SdpaLayout::kHeadsFirst) return {heads * rows * dim, rows * dim, dim};
    return {heads * rows * dim, dim, heads * dim};
  }
};

Result<Heads> heads_of(std::string_view name, const Buffer& buffer, SdpaLayout layout) {
  MLXN_TRY(check_present(kOp, name, buffer));
  if (buffer.shape().size() != 4) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": ", name, " has shape ", buffer.shape().to_string(),
                     ", expected four dimensions"));
  }
  return Heads::of(buffer.shape(), layout);
}

// Shapes and dtypes of the four tensors.
Status check_tensors(const SdpaParams& params, SdpaArgs& args) {
  MLXN_ASSIGN(const Heads query, heads_of("queries", params.queries, params.query_layout));
  MLXN_ASSIGN(const Heads key, heads_of("keys", params.keys, params.key_layout));
  MLXN_ASSIGN(const Heads value, heads_of("values", params.values, params.key_layout));
  MLXN_ASSIGN(args.query_type, float_type(kOp, "queries", params.queries.dtype()));
  MLXN_TRY(float_type(kOp, "keys", params.keys.dtype()));
  const Heads as_keys = {query.batch, key.heads, key.rows, query.dim};
  MLXN_TRY(check_argument(params.keys, ExpectedShape{kOp, "keys", params.keys.dtype(),
                                                     as_keys.shape(params.key_layout)}));
  const Heads as_values = {query.batch, key.heads, key.rows, value.dim};
  MLXN_TRY(check_argument(params.values, ExpectedShape{kOp, "values", params.keys.dtype(),
                                                       as_values.shape(params.key_layout)}));
  const Heads as_output = {query.batch, query.heads, query.rows, value.dim};
  MLXN_TRY(check_present(kOp, "output", params.output));
  MLXN_ASSIGN(args.output_type, float_type(kOp, "output", params.output.dtype()));
  MLXN_TRY(check_argument(params.output, ExpectedShape{kOp, "output", params.output.dtype(),
                                                       as_output.shape(params.query_layout)}));
  if (query.heads % key.heads != 0) {
    return Error(ErrorCode::kShapeMismatch, str(kOp, ": ", query.heads, " heads of queries and ",
                                                key.heads, " of keys, expected a multiple"));
  }
  if (query.dim > 576 || value.dim > 576) {
    return Error(ErrorCode::kOutOfRange, str(kOp, ": heads of ", query.dim, " and ", value.dim,
                                             " elements, expected at most 576"));
  }
  const uint64_t length = params.length == 0 ? key.rows : params.length;
  if (length > key.rows) {
    return Error(ErrorCode::kOutOfRange, str(kOp, ": ", length, " keys, expected at most the ",
                                             key.rows, " that there is room for"));
  }
  args.query = query.strides(params.query_layout);
  args.output = as_output.strides(params.query_layout);
  args.key = key.strides(params.key_layout);
  args.value = value.strides(params.key_layout);
  const uint64_t share = query.heads / key.heads;
  MLXN_ASSIGN(const uint64_t rows, checked_mul<uint64_t>(query.rows, share));
  MLXN_TRY(fits_32_bits(kOp, "rows of queries times heads", rows));
  MLXN_ASSIGN(args.queries, fits_32_bits(kOp, "rows of queries", query.rows));
  MLXN_ASSIGN(args.keys, fits_32_bits(kOp, "keys", length));
  MLXN_ASSIGN(args.kv_heads, fits_32_bits(kOp, "heads of keys", key.heads));
  args.share = static_cast<uint32_t>(share);
  args.dim = static_cast<uint32_t>(query.dim);
  args.value_dim = static_cast<uint32_t>(value.dim);
  return {};
}

Status check_numbers(const SdpaParams& params, SdpaArgs& args) {
  if (!std::isfinite(params.scale) || !std::isfinite(params.soft_cap) || params.soft_cap < 0) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": scale ", params.scale, " and soft cap ", params.soft_cap,
                     ", expected finite numbers, the second not negative"));
  }
  args.scale = params.scale != 0 ? params.scale : 1 / std::sqrt(static_cast<float>(args.dim));
  args.soft_cap = params.soft_cap;
  args.causal = params.causal ? 1 : 0;
  args.window = params.window;
  const bool placed = params.causal || params.window != 0 || params.slopes;
  if (!params.offset && placed && args.queries > args.keys) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": ", args.queries, " queries for ", args.keys,
                     " keys, expected an offset, or not more queries than keys"));
  }
  args.offset = params.offset ? *params.offset : saturating_sub(args.keys, args.queries);
  MLXN_TRY(checked_add<uint64_t>(args.offset, args.queries));
  return {};
}

Status check_mask(const SdpaParams& params, SdpaArgs& args) {
  args.mask_type = kNoMask;
  if (params.blocks && (!params.mask || params.mask->shape().size() != 2)) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": blocks without a mask of two dimensions, expected both"));
  }
  if (!params.mask) return {};
  const Buffer& mask = *params.mask;
  MLXN_TRY(check_present(kOp, "mask", mask));
  args.mask_type = kBoolMask;
  if (mask.dtype() != Dtype::kBool) {
    MLXN_ASSIGN(args.mask_type, float_type(kOp, "mask", mask.dtype()));
  }
  const uint64_t heads = uint64_t{args.kv_heads} * args.share;
  const bool shared = mask.shape().size() == 2;
  const Shape expected = shared ? Shape{args.queries, args.keys}
                                : Shape{params.queries.shape()[0], heads, args.queries, args.keys};
  MLXN_TRY(check_argument(mask, ExpectedShape{kOp, "mask", mask.dtype(), expected}));
  const uint64_t head = shared ? 0 : uint64_t{args.queries} * args.keys;
  args.mask = {heads * head, head, args.keys};
  if (!params.blocks) return {};
  args.has_blocks = 1;
  return check_argument(*params.blocks, ExpectedShape{kOp,
                                                      "blocks",
                                                      Dtype::kU8,
                                                      {(args.queries - 1) / uint64_t{kSdpaRows} + 1,
                                                       (args.keys - 1) / uint64_t{kSdpaKeys} + 1}});
}

Status check_heads(const SdpaParams& params, SdpaArgs& args) {
  const uint64_t heads = uint64_t{args.kv_heads} * args.share;
  if (params.slopes) {
    MLXN_TRY(check_argument(*params.slopes, ExpectedShape{kOp, "slopes", Dtype::kF32, {heads}}));
  }
  if (params.sinks) {
    MLXN_TRY(check_argument(*params.sinks, ExpectedShape{kOp, "sinks", Dtype::kF32, {heads}}));
  }
  args.has_slopes = params.slopes ? 1 : 0;
  args.has_sinks = params.sinks ? 1 : 0;
  return {};
}

// One query reads all keys for a few rows: they are dealt out to simdgroups. Many queries share
// what they read in tiles of 32 rows.
struct Plan {
  std::string kernel;
  uint32_t rows_at_once;
};
Plan plan_for(const SdpaArgs& args, Dtype keys) {
  const bool one = args.queries == 1;
  const uint32_t dim = one ? std::max(args.dim, args.value_dim) : args.value_dim;
  const uint32_t room = dim <= 256 ? 256 : 576;
  if (!one) return {str("sdpa_tile_", room, "_", to_string(keys)), kSdpaRows};
  const uint32_t rows = args.share == 1 ? 1 : 4;
  return {str("sdpa_row_", rows, "_", room, "_", to_string(keys)), rows};
}

}  // namespace

Status sdpa(ComputeEncoder& encoder, const SdpaParams& params) {
  SdpaArgs args = {};
  MLXN_TRY(check_tensors(params, args));
  MLXN_TRY(check_numbers(params, args));
  MLXN_TRY(check_mask(params, args));
  MLXN_TRY(check_heads(params, args));
  const std::pair<const Buffer*, const char*> inputs[] = {
      {&params.queries, "queries"}, {&params.keys, "keys"},    {&params.values, "values"},
      {params.mask, "mask"},        {params.slopes, "slopes"}, {params.sinks, "sinks"},
      {params.blocks, "blocks"}};
  std::vector<Binding> bindings;
  std::vector<const Buffer*> reads;
  for (const auto& [input, name] : inputs) {
    bindings.push_back({static_cast<uint32_t>(bindings.size()), input ? *input : params.queries});
    if (!input) continue;
    MLXN_TRY(check_apart(kOp, params.output, *input, name));
    reads.push_back(input);
  }
  bindings.push_back({7, params.output});
  bindings.push_back({8, as_bytes(args)});
  const Plan plan = plan_for(args, params.keys.dtype());
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), plan.kernel));
  const Buffer* writes[] = {&params.output};
  const uint64_t rows = uint64_t{args.queries} * args.share;
  return encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = bindings,
       .grid = {(rows - 1) / plan.rows_at_once + 1, args.kv_heads, params.queries.shape()[0]},
       .threadgroup = {kSdpaThreads, 1, 1},
       .kind = DispatchKind::kThreadgroups,
       .declared = true,
       .reads = reads,
       .writes = writes,
       .op = OpKind::kSdpa});
}

}  // namespace mlxn
