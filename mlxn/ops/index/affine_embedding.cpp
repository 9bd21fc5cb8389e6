#include "mlxn/ops/index/affine_embedding.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/index/indexed_rows_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "affine_embedding";

Status check_numbers(const AffineEmbeddingParams& params) {
  const bool bits = params.bits >= 2 && params.bits <= 8 && params.bits != 7;
  const bool group = params.group == 32 || params.group == 64 || params.group == 128;
  if (!bits || !group) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": ", params.bits, " bits in groups of ", params.group,
                     ", expected 2, 3, 4, 5, 6 or 8 in groups of 32, 64 or 128"));
  }
  if (std::isfinite(params.scale)) return {};
  return Error(ErrorCode::kInvalidArgument,
               str(kOp, ": scale ", params.scale, ", expected a finite number"));
}

// By the scales, which have a row for each of the table.
Result<AffineEmbeddingArgs> check(const AffineEmbeddingParams& params) {
  MLXN_TRY(check_numbers(params));
  MLXN_ASSIGN(const Matrix scales, matrix_of(kOp, "scales", params.scales));
  MLXN_ASSIGN(const uint64_t wide, checked_mul<uint64_t>(scales.columns, params.group));
  MLXN_ASSIGN(const uint32_t dim, fits_32_bits(kOp, "columns", wide));
  MLXN_TRY(fits_32_bits(kOp, "bits of a row", wide * params.bits));
  MLXN_TRY(check_argument(
      params.biases, ExpectedShape{kOp, "biases", params.scales.dtype(), params.scales.shape()}));
  MLXN_TRY(check_present(kOp, "table", params.table));
  const Dtype dtype = params.table.dtype() == Dtype::kU32 ? Dtype::kU32 : Dtype::kU8;
  const Shape shape = {scales.rows, wide * params.bits / (8 * info(dtype).block_bytes)};
  MLXN_TRY(check_argument(params.table, ExpectedShape{kOp, "table", dtype, shape}));
  MLXN_TRY(check_present(kOp, "ids", params.ids));
  const uint64_t tokens = params.ids.element_count();
  MLXN_TRY(check_argument(params.ids, {kOp, "ids", Dtype::kU32, tokens}));
  MLXN_TRY(fits_32_bits(kOp, "tokens", tokens));
  MLXN_ASSIGN(const uint64_t elements, checked_mul<uint64_t>(tokens, dim));
  MLXN_TRY(check_argument(params.output, {kOp, "output", Dtype::kF32, elements}));
  for (const auto& [input, name] : {std::pair(&params.table, "table"),
                                    {&params.scales, "scales"},
                                    {&params.biases, "biases"},
                                    {&params.ids, "ids"}}) {
    MLXN_TRY(check_apart(kOp, params.output, *input, name));
  }
  return AffineEmbeddingArgs{scales.rows, dim, params.bits, params.group, params.scale};
}

}  // namespace

Status affine_embedding(ComputeEncoder& encoder, const AffineEmbeddingParams& params) {
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, params.scales.dtype()));
  MLXN_ASSIGN(const AffineEmbeddingArgs args, check(params));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, params.table},
                                        {1, params.scales},
                                        {2, params.biases},
                                        {3, params.ids},
                                        {4, params.output},
                                        {5, as_bytes(args)}},
                           .grid = {args.dim / 32, params.ids.element_count(), 1},
                           .threadgroup = {std::min(64u, pipeline.max_threads()), 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&params.table, &params.scales, &params.biases, &params.ids},
                           .writes = {&params.output}});
}

}  // namespace mlxn
