#include "mlxn/ops/norm/norm.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/elements.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/norm/norm_args.h"
#include "mlxn/ops/norm/norm_check.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "norm";

Status check_vectors(const NormParams& params, uint32_t dim) {
  const Dtype dtype = weight_dtype_of(params.input.dtype());
  MLXN_TRY(check_arguments(kOp, {{"weight", params.weight}, {"bias", params.bias}}, dtype, dim));
  if (params.factor == nullptr) return {};
  MLXN_TRY(check_present(kOp, "factor", *params.factor));
  const uint64_t elements = params.factor->element_count() == 1 ? 1 : dim;
  return check_argument(*params.factor, {kOp, "factor", dtype, elements});
}

Status check_copy(const NormParams& params, const Rows& rows) {
  if (params.copy == nullptr) {
    if (params.copy_heads == 0) return {};
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": copy_heads is ", params.copy_heads, " without a copy, expected 0"));
  }
  MLXN_TRY(check_argument(*params.copy, {kOp, "copy", Dtype::kBf16, params.input.element_count()}));
  if (params.copy_heads == 0 || rows.count % params.copy_heads == 0) return {};
  return Error(ErrorCode::kShapeMismatch, str(kOp, ": copy_heads is ", params.copy_heads,
                                              ", expected a divisor of ", rows.count, " rows"));
}

// Every output is apart from the others, and the same as an input or apart from it.
Status check_alias(const NormParams& params) {
  const NamedBuffer weight = {"weight", params.weight}, bias = {"bias", params.bias},
                    factor = {"factor", params.factor}, input = {"input", &params.input},
                    gate = {"gate", params.gate}, residual = {"residual", params.residual};
  MLXN_TRY(check_overlaps(kOp, params.output, {input, gate, residual}));
  MLXN_TRY(check_aparts(kOp, params.output,
                        {weight, bias, factor, {"sum", params.sum}, {"copy", params.copy}}));
  if (params.sum != nullptr) {
    MLXN_TRY(check_overlaps(kOp, *params.sum, {input, gate, residual}));
    MLXN_TRY(check_aparts(kOp, *params.sum, {weight, bias, factor, {"copy", params.copy}}));
  }
  if (params.copy == nullptr) return {};
  return check_aparts(kOp, *params.copy, {input, gate, residual, weight, bias, factor});
}

Result<Rows> check(const NormParams& params) {
  const Buffer& input = params.input;
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "input", input));
  MLXN_TRY(check_norm_dim(kOp, rows.dim));
  MLXN_TRY(check_number(params.eps, {kOp, "eps", 0}));
  if (params.kind >= NormKind::kCount) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": kind ", static_cast<uint32_t>(params.kind), ", expected less than ",
                     static_cast<uint32_t>(NormKind::kCount)));
  }
  MLXN_TRY(check_arguments(kOp,
                           {{"output", &params.output},
                            {"residual", params.residual},
                            {"gate", params.gate},
                            {"sum", params.sum}},
                           input.dtype(), input.element_count()));
  if (params.sum && (!params.residual || params.residual_at != ResidualAt::kFirst)) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": sum without a residual that is added first"));
  }
  MLXN_TRY(check_vectors(params, rows.dim));
  MLXN_TRY(check_copy(params, rows));
  MLXN_TRY(check_alias(params));
  return rows;
}

uint32_t parts_of(const NormParams& params, uint32_t dim) {
  const bool residual_first = params.residual_at == ResidualAt::kFirst;
  uint32_t parts = 0;
  if (params.weight) parts |= kNormWeight;
  if (params.bias) parts |= kNormBias;
  if (params.gate) parts |= kNormGate;
  if (params.residual) parts |= residual_first ? kNormResidualFirst : kNormResidualLast;
  if (params.factor) parts |= kNormFactor;
  if (params.factor && params.factor->element_count() == dim) parts |= kNormFactorRow;
  if (params.sum) parts |= kNormSum;
  if (params.copy) parts |= kNormCopy;
  return parts;
}

}  // namespace

Status norm(ComputeEncoder& encoder, const NormParams& params) {
  const Buffer& input = params.input;
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, input.dtype()));
  MLXN_ASSIGN(const Rows rows, check(params));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const uint32_t heads = params.copy_heads > 0 ? params.copy_heads : 1;
  const uint32_t tokens = rows.count / heads;
  const NormArgs args = {params.kind, parts_of(params, rows.dim), rows.dim, params.eps, heads,
                         tokens};
  const Buffer &residual = present_or(params.residual, input),
               &gate = present_or(params.gate, input), &weight = present_or(params.weight, input),
               &bias = present_or(params.bias, input), &factor = present_or(params.factor, input),
               &sum = present_or(params.sum, params.output),
               &copy = present_or(params.copy, params.output);
  return dispatch_rows(encoder, rows,
                       {.pipeline = pipeline,
                        .bindings = {{0, input},
                                     {1, residual},
                                     {2, weight},
                                     {3, bias},
                                     {4, gate},
                                     {5, factor},
                                     {6, params.output},
                                     {7, sum},
                                     {8, copy},
                                     {9, as_bytes(args)}},
                        .reads = {&input, &residual, &weight, &bias, &gate, &factor},
                        .writes = {&params.output, &sum, &copy}});
}

}  // namespace mlxn
