#include "mlxn/ops/backward/rms_norm_backward.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/backward/rms_norm_backward_args.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/elements.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/norm/norm_check.h"

namespace mlxn {
namespace {

constexpr Dtype kF32 = Dtype::kF32;

// Rows that all arguments agree with; the output is checked by the caller.
Result<Rows> check(const char* op, const RmsNormBackwardParams& params) {
  MLXN_ASSIGN(const Rows rows, rows_of(op, "input", params.input));
  const uint64_t count = params.input.element_count();
  MLXN_TRY(
      check_arguments(op, {{"input", &params.input}, {"gradient", &params.gradient}}, kF32, count));
  MLXN_TRY(check_norm_dim(op, rows.dim));
  MLXN_TRY(check_argument(params.inverse, {op, "inverse", kF32, rows.count}));
  MLXN_TRY(check_argument(params.weight, {op, "weight", kF32, rows.dim}));
  MLXN_TRY(check_apart(op, params.output, params.inverse, "inverse"));
  return rows;
}

}  // namespace

Status rms_inverse(ComputeEncoder& encoder, const RmsInverseParams& params) {
  constexpr const char* kOp = "rms_inverse";
  const auto& [input, output, eps] = params;
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "input", input));
  MLXN_TRY(check_argument(input, {kOp, "input", kF32, input.element_count()}));
  MLXN_TRY(check_norm_dim(kOp, rows.dim));
  MLXN_TRY(check_argument(output, {kOp, "output", kF32, rows.count}));
  MLXN_TRY(check_apart(kOp, output, input, "input"));
  MLXN_TRY(check_number(eps, {kOp, "eps", 0}));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "rms_inverse_f32"));
  const RmsNormBackwardArgs args = {rows.count, rows.dim, eps};
  return dispatch_rows(encoder, rows,
                       {.pipeline = pipeline,
                        .bindings = {{0, input}, {1, output}, {2, as_bytes(args)}},
                        .reads = {&input},
                        .writes = {&output}});
}

Status rms_norm_backward(ComputeEncoder& encoder, const RmsNormBackwardParams& params) {
  constexpr const char* kOp = "rms_norm_backward";
  const auto& [input, gradient, inverse, weight, output] = params;
  MLXN_ASSIGN(const Rows rows, check(kOp, params));
  MLXN_TRY(check_argument(output, {kOp, "output", kF32, input.element_count()}));
  MLXN_TRY(check_overlaps(kOp, output, {{"input", &input}, {"gradient", &gradient}}));
  MLXN_TRY(check_apart(kOp, output, weight, "weight"));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "rms_norm_backward_f32"));
  const RmsNormBackwardArgs args = {rows.count, rows.dim, 0};
  return dispatch_rows(
      encoder, rows,
      {.pipeline = pipeline,
       .bindings =
           {{0, input}, {1, gradient}, {2, inverse}, {3, weight}, {4, output}, {5, as_bytes(args)}},
       .reads = {&input, &gradient, &inverse, &weight},
       .writes = {&output}});
}

Status rms_norm_weight_backward(ComputeEncoder& encoder, const RmsNormBackwardParams& params) {
  constexpr const char* kOp = "rms_norm_weight_backward";
  const auto& [input, gradient, inverse, weight, output] = params;
  MLXN_ASSIGN(const Rows rows, check(kOp, params));
  MLXN_TRY(check_argument(output, {kOp, "output", kF32, rows.dim}));
  MLXN_TRY(check_aparts(kOp, output, {{"input", &input}, {"gradient", &gradient}}));
  MLXN_TRY(check_overlap(kOp, output, weight, "weight"));
  MLXN_ASSIGN(const Pipeline pipeline,
              builtin_pipeline(encoder.device(), "rms_norm_weight_backward_f32"));
  const RmsNormBackwardArgs args = {rows.count, rows.dim, 0};
  return dispatch_elements(
      encoder, rows.dim,
      {.pipeline = pipeline,
       .bindings = {{0, input}, {1, gradient}, {2, inverse}, {3, output}, {4, as_bytes(args)}},
       .reads = {&input, &gradient, &inverse},
       .writes = {&output}});
}

}  // namespace mlxn
