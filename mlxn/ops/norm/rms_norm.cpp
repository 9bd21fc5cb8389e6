#include "mlxn/ops/norm/rms_norm.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/norm/rms_norm_args.h"
#include "mlxn/ops/op_kind.h"

namespace mlxn {
namespace {

constexpr uint32_t kMostDim = 1u << 24;  // exact as a float

Result<Rows> check(const char* op, const RmsNormParams& params) {
  const Buffer& input = params.input;
  MLXN_ASSIGN(const Rows rows, rows_of(op, "input", input));
  const Dtype weight_dtype = input.dtype() == Dtype::kF16 ? Dtype::kF32 : input.dtype();
  MLXN_TRY(check_argument(params.weight, {op, "weight", weight_dtype, rows.dim}));
  MLXN_TRY(check_argument(params.output, {op, "output", input.dtype(), input.element_count()}));
  MLXN_TRY(check_overlap(op, params.output, input, "input"));
  MLXN_TRY(check_overlap(op, params.output, params.weight, "weight"));
  if (rows.dim > kMostDim) {
    return Error(ErrorCode::kOutOfRange,
                 str(op, ": rows of ", rows.dim, " elements, expected at most ", kMostDim));
  }
  if (!std::isfinite(params.eps) || params.eps < 0) {
    return Error(ErrorCode::kInvalidArgument,
                 str(op, ": eps ", params.eps, ", expected a number from 0 up"));
  }
  return rows;
}

}  // namespace

Status rms_norm(ComputeEncoder& encoder, const RmsNormParams& params) {
  constexpr const char* kOp = "rms_norm";
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, params.input.dtype()));
  MLXN_ASSIGN(const Rows rows, check(kOp, params));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const RmsNormArgs args = {params.eps, static_cast<float>(rows.dim)};
  const Binding bindings[] = {
      {0, params.input}, {1, params.weight}, {2, params.output}, {3, as_bytes(args)}};
  const Buffer* reads[] = {&params.input, &params.weight};
  const Buffer* writes[] = {&params.output};
  return dispatch_rows(encoder, rows,
                       {.pipeline = pipeline,
                        .bindings = bindings,
                        .reads = reads,
                        .writes = writes,
                        .op = OpKind::kRmsNorm});
}

Status rms_norm_mul(ComputeEncoder& encoder, const RmsNormMulParams& both) {
  constexpr const char* kOp = "rms_norm_mul";
  const auto& [params, scale] = both;
  const Buffer& input = params.input;
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, input.dtype()));
  MLXN_ASSIGN(const Rows rows, check(kOp, params));
  MLXN_TRY(check_argument(scale, {kOp, "scale", input.dtype(), input.element_count()}));
  MLXN_TRY(check_overlap(kOp, params.output, scale, "scale"));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const RmsNormArgs args = {params.eps, static_cast<float>(rows.dim)};
  const Binding bindings[] = {
      {0, input}, {1, params.weight}, {2, scale}, {3, params.output}, {4, as_bytes(args)}};
  const Buffer* reads[] = {&input, &params.weight, &scale};
  const Buffer* writes[] = {&params.output};
  return dispatch_rows(
      encoder, rows,
      {.pipeline = pipeline, .bindings = bindings, .reads = reads, .writes = writes});
}

Status add_rms_norm(ComputeEncoder& encoder, const AddRmsNormParams& params) {
  constexpr const char* kOp = "add_rms_norm";
  const auto& [a, b, sum, weight, output, eps] = params;
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, a.dtype()));
  MLXN_ASSIGN(const Rows rows, check(kOp, {a, weight, output, eps}));
  MLXN_TRY(check_argument(b, {kOp, "b", a.dtype(), a.element_count()}));
  MLXN_TRY(check_argument(sum, {kOp, "sum", a.dtype(), a.element_count()}));
  for (const auto& [input, name] : {std::pair(&a, "a"), std::pair(&b, "b")}) {
    MLXN_TRY(check_overlap(kOp, output, *input, name));
    MLXN_TRY(check_overlap(kOp, sum, *input, name));
  }
  MLXN_TRY(check_apart(kOp, sum, weight, "weight"));
  MLXN_TRY(check_apart(kOp, output, sum, "sum"));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const RmsNormArgs args = {eps, static_cast<float>(rows.dim)};
  return dispatch_rows(
      encoder, rows,
      {.pipeline = pipeline,
       .bindings = {{0, a}, {1, b}, {2, weight}, {3, sum}, {4, output}, {5, as_bytes(args)}},
       .reads = {&a, &b, &weight},
       .writes = {&sum, &output}});
}

}  // namespace mlxn
