#include "mlxn/ops/norm/head_norm_rope.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/elements.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/norm/head_norm_rope_args.h"
#include "mlxn/ops/norm/norm_check.h"
#include "mlxn/ops/rope/rope_check.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "head_norm_rope";

Result<RopeSizes> sizes_of(const HeadNormRopeParams& params) {
  const Buffer& input = params.input;
  if (params.table) return check_rope(kOp, input, *params.table, input.dtype());
  MLXN_TRY(check_present(kOp, "input", input));
  const Shape& shape = input.shape();
  if (shape.size() != 3 || shape[2] % 2 != 0) {
    return Error(ErrorCode::kShapeMismatch, str(kOp, ": input has shape ", shape.to_string(),
                                                ", expected [tokens, heads, dim] with even dim"));
  }
  MLXN_ASSIGN(const uint32_t tokens, fits_32_bits(kOp, "tokens", shape[0]));
  MLXN_ASSIGN(const uint32_t heads, fits_32_bits(kOp, "heads", shape[1]));
  MLXN_ASSIGN(const uint32_t dim, fits_32_bits(kOp, "elements of a head", shape[2]));
  return RopeSizes{tokens, heads, dim, 0};
}

// Outputs are apart from each other and from what all threadgroups read.
Status check_alias(const HeadNormRopeParams& params) {
  const NamedBuffer input = {"input", &params.input}, weight = {"weight", params.weight},
                    table = {"table", params.table}, copy = {"copy", params.copy},
                    permuted = {"permuted", params.permuted};
  MLXN_TRY(check_overlaps(kOp, params.output, {input}));
  MLXN_TRY(check_aparts(kOp, params.output, {weight, table, copy, permuted}));
  if (params.copy) MLXN_TRY(check_aparts(kOp, *params.copy, {input, weight, table, permuted}));
  if (params.permuted) MLXN_TRY(check_aparts(kOp, *params.permuted, {input, weight, table}));
  return {};
}

struct Plan {
  Rows rows;
  HeadNormRopeArgs args;
};

Result<Plan> check(const HeadNormRopeParams& params) {
  const Buffer& input = params.input;
  MLXN_ASSIGN(const RopeSizes sizes, sizes_of(params));
  MLXN_TRY(check_norm_dim(kOp, sizes.dim));
  MLXN_TRY(check_number(params.eps, {kOp, "eps", 0}));
  const uint64_t count = input.element_count();
  MLXN_TRY(check_arguments(kOp, {{"output", &params.output}, {"permuted", params.permuted}},
                           input.dtype(), count));
  MLXN_TRY(
      check_arguments(kOp, {{"weight", params.weight}}, weight_dtype_of(input.dtype()), sizes.dim));
  MLXN_TRY(check_arguments(kOp, {{"copy", params.copy}}, Dtype::kBf16, count));
  if (params.copy_permuted && !params.copy) {
    return Error(ErrorCode::kInvalidArgument, str(kOp, ": copy_permuted without a copy"));
  }
  MLXN_TRY(check_alias(params));
  RopePlaces places = {};
  if (params.table) {
    MLXN_ASSIGN(places, places_of(kOp, sizes, {params.pairs, params.offset}));
  }
  uint32_t parts = 0;
  if (params.weight) parts |= kHeadWeight;
  if (params.copy) parts |= kHeadCopy;
  if (params.copy_permuted) parts |= kHeadCopyPermuted;
  if (params.permuted) parts |= kHeadPermuted;
  MLXN_ASSIGN(const uint32_t rows, fits_32_bits(kOp, "heads of all tokens", count / sizes.dim));
  return Plan{{rows, sizes.dim}, {sizes.heads, sizes.tokens, sizes.dim, parts, params.eps, places}};
}

}  // namespace

Status head_norm_rope(ComputeEncoder& encoder, const HeadNormRopeParams& params) {
  const Buffer &input = params.input, &output = params.output;
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, input.dtype()));
  MLXN_ASSIGN(const Plan plan, check(params));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const Buffer &weight = present_or(params.weight, input), &table = present_or(params.table, input),
               &copy = present_or(params.copy, output),
               &permuted = present_or(params.permuted, output);
  return dispatch_rows(encoder, plan.rows,
                       {.pipeline = pipeline,
                        .bindings = {{0, input},
                                     {1, weight},
                                     {2, table},
                                     {3, output},
                                     {4, copy},
                                     {5, permuted},
                                     {6, as_bytes(plan.args)}},
                        .reads = {&input, &weight, &table},
                        .writes = {&output, &copy, &permuted}});
}

}  // namespace mlxn
