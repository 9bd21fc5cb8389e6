#include "mlxn/ops/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/attention/attention_args.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/kv/kv_cache_check.h"
#include "mlxn/ops/matmul/quantise_rows.h"
#include "mlxn/ops/op_kind.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "attention";
constexpr uint32_t kHeadSizes[] = {64, 96, 128, 256};  // that kernels are made for

struct Sizes {
  uint32_t tokens, heads, most_dim;
  KvCacheSizes cache;
};

// How rows (a token with one of the query heads that share a head of keys) are dealt out.
struct Rows {
  uint32_t all, of_threadgroup;
  uint32_t room;  // of the kernel

  // What a threadgroup reads of the cache serves its rows of one sequence. So it takes as many as
  // there is room for, but those of a single token where each may have a sequence of its own.
  static Result<Rows> deal(const Sizes& sizes, Dtype cache) {
    constexpr uint64_t kMost = 8;
    const uint64_t share = sizes.heads / sizes.cache.heads;
    MLXN_ASSIGN(const uint32_t all, fits_32_bits(kOp, "tokens times heads", sizes.tokens * share));
    const bool apart = sizes.tokens <= sizes.cache.sequences;
    const auto rows = static_cast<uint32_t>(std::min<uint64_t>(apart ? share : all, kMost));
    const bool tight = cache != Dtype::kF32;  // f32 is for comparisons: no kernels for few rows
    return Rows{all, rows, !tight ? 8u : rows == 1 ? 1u : rows <= 4 ? 4u : 8u};
  }
};

Result<uint32_t> kernel_for(uint32_t dim) {
  for (uint32_t most : kHeadSizes) {
    if (dim <= most && dim % 8 == 0) return most;
  }
  return Error(ErrorCode::kUnsupported,
               str(kOp, ": heads of ", dim, " elements, expected a multiple of 8 up to 256"));
}

Status check_numbers(const AttentionParams& params) {
  const Dtype cache = params.key_cache.dtype();
  if (cache != Dtype::kF16 && params.rounded != (cache == Dtype::kQ8_0)) {
    return Error(
        ErrorCode::kDtypeMismatch,
        str(kOp, ": key cache is ", to_string(cache), ", expected f16",
            params.rounded ? " or q8_0 for rounded numbers" : " or f32 for exact numbers"));
  }
  if (std::isfinite(params.scale) && std::isfinite(params.soft_cap) && params.soft_cap >= 0) {
    return {};
  }
  return Error(ErrorCode::kInvalidArgument,
               str(kOp, ": scale ", params.scale, " and soft cap ", params.soft_cap,
                   ", expected finite numbers, the second not negative"));
}

// Whether results are to be rounded to 8 bits.
bool rounds(const AttentionParams& params) {
  return params.output.dtype() == Dtype::kI32;
}

Status check_output(const AttentionParams& params) {
  const Shape& shape = params.queries.shape();
  if (!rounds(params))
    return check_argument(params.output, ExpectedShape{kOp, "output", Dtype::kF32, shape});
  if (!params.rounded || shape[2] % kRoundedBlock != 0) {
    return Error(ErrorCode::kUnsupported,
                 str(kOp, ": output is i32 with ", params.rounded ? "rounded" : "exact",
                     " numbers and heads of ", shape[2],
                     " elements, expected rounded ones and a multiple of ", kRoundedBlock));
  }
  MLXN_ASSIGN(const Shape rounded, rounded_shape(shape[0], shape[1] * shape[2]));
  return check_argument(params.output, ExpectedShape{kOp, "output", Dtype::kI32, rounded});
}

Result<Sizes> check(const AttentionParams& params) {
  MLXN_ASSIGN(const KvCacheSizes cache, check_kv_cache(kOp, params.key_cache, params.value_cache));
  MLXN_TRY(check_present(kOp, "queries", params.queries));
  const Shape& shape = params.queries.shape();
  if (shape.size() != 3 || shape[2] != cache.dim || shape[1] % cache.heads != 0) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": queries have shape ", shape.to_string(), ", expected [tokens, heads, ",
                     cache.dim, "] with a multiple of ", cache.heads, " heads"));
  }
  MLXN_TRY(check_argument(params.queries, ExpectedShape{kOp, "queries", Dtype::kF32, shape}));
  MLXN_TRY(check_output(params));
  MLXN_TRY(check_argument(params.positions, {kOp, "positions", Dtype::kU32, shape[0]}));
  MLXN_TRY(check_argument(params.sequences, {kOp, "sequences", Dtype::kU32, shape[0]}));
  MLXN_ASSIGN(const uint32_t tokens, fits_32_bits(kOp, "tokens", shape[0]));
  MLXN_ASSIGN(const uint32_t heads, fits_32_bits(kOp, "heads", shape[1]));
  MLXN_ASSIGN(const uint32_t most_dim, kernel_for(cache.dim));
  MLXN_TRY(check_numbers(params));
  return Sizes{tokens, heads, most_dim, cache};
}

Status check_memory(const AttentionParams& params) {
  MLXN_TRY(rounds(params) ? check_apart(kOp, params.output, params.queries, "queries")
                          : check_overlap(kOp, params.output, params.queries, "queries"));
  const std::pair<const Buffer*, const char*> inputs[] = {{&params.key_cache, "key cache"},
                                                          {&params.value_cache, "value cache"},
                                                          {&params.positions, "positions"},
                                                          {&params.sequences, "sequences"}};
  for (const auto& [input, name] : inputs) {
    MLXN_TRY(check_apart(kOp, params.output, *input, name));
  }
  return {};
}

}  // namespace

Status attention(ComputeEncoder& encoder, const AttentionParams& params) {
  MLXN_ASSIGN(const Sizes sizes, check(params));
  MLXN_TRY(check_memory(params));
  const KvCacheSizes& cache = sizes.cache;
  MLXN_ASSIGN(const Rows rows, Rows::deal(sizes, params.key_cache.dtype()));
  MLXN_ASSIGN(const std::string kernel,
              weight_kernel_name(
                  str(kOp, params.rounded ? "_rounded_" : "_", rows.room, "_", sizes.most_dim),
                  params.key_cache.dtype()));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const float scale =
      params.scale != 0 ? params.scale : 1 / std::sqrt(static_cast<float>(cache.dim));
  const AttentionArgs args = {sizes.tokens,
                              sizes.heads,
                              cache.dim,
                              rows.of_threadgroup,
                              cache.sequences,
                              cache.heads,
                              cache.capacity,
                              params.window,
                              rounds(params) ? rounded_tile(sizes.tokens) : 0,
                              scale,
                              params.soft_cap};
  return encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = {{0, params.queries},
                    {1, params.key_cache},
                    {2, params.value_cache},
                    {3, params.positions},
                    {4, params.sequences},
                    {5, params.output},
                    {6, as_bytes(args)}},
       .grid = {cache.heads, (uint64_t{rows.all} + rows.of_threadgroup - 1) / rows.of_threadgroup,
                1},
       .threadgroup = {kAttentionThreads, 1, 1},
       .kind = DispatchKind::kThreadgroups,
       .declared = true,
       .reads = {&params.queries, &params.key_cache, &params.value_cache, &params.positions,
                 &params.sequences},
       .writes = {&params.output},
       .op = OpKind::kSdpa});
}

}  // namespace mlxn
