#include "mlxn/ops/norm/triple_norm.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/elements.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/norm/norm_check.h"
#include "mlxn/ops/norm/triple_norm_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "triple_norm";
constexpr const char* kWeights[] = {"weights[0]", "weights[1]", "weights[2]"};
constexpr const char* kOutputs[] = {"outputs[0]", "outputs[1]", "outputs[2]"};

Status check_there(const TripleNormParams& params) {
  for (size_t i = 0; i < 3; ++i) {
    if (params.weights[i] && params.outputs[i]) continue;
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": ", params.weights[i] ? kOutputs[i] : kWeights[i],
                     " is missing, expected three of each"));
  }
  const int there =
      (params.hidden != nullptr) + (params.hidden_weight != nullptr) + (params.sum != nullptr);
  if (there == 0 || there == 3) return {};
  return Error(ErrorCode::kInvalidArgument,
               str(kOp, ": ", there, " of hidden, hidden weight and sum, expected all or none"));
}

Status check_alias(const TripleNormParams& params) {
  for (size_t i = 0; i < 3; ++i) {
    const Buffer& output = *params.outputs[i];
    MLXN_TRY(check_overlaps(kOp, output, {{"input", &params.input}, {"hidden", params.hidden}}));
    MLXN_TRY(
        check_aparts(kOp, output, {{"sum", params.sum}, {"hidden weight", params.hidden_weight}}));
    for (size_t j = 0; j < 3; ++j) {
      MLXN_TRY(check_apart(kOp, output, *params.weights[j], kWeights[j]));
      if (j > i) MLXN_TRY(check_apart(kOp, output, *params.outputs[j], kOutputs[j]));
    }
  }
  if (!params.sum) return {};
  MLXN_TRY(check_overlaps(kOp, *params.sum, {{"input", &params.input}, {"hidden", params.hidden}}));
  return check_aparts(kOp, *params.sum,
                      {{"hidden weight", params.hidden_weight},
                       {kWeights[0], params.weights[0]},
                       {kWeights[1], params.weights[1]},
                       {kWeights[2], params.weights[2]}});
}

Result<Rows> check(const TripleNormParams& params) {
  const Buffer& input = params.input;
  MLXN_TRY(check_there(params));
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "input", input));
  MLXN_TRY(check_norm_dim(kOp, rows.dim));
  MLXN_TRY(check_number(params.eps, {kOp, "eps", 0}));
  const Dtype weight = weight_dtype_of(input.dtype());
  for (size_t i = 0; i < 3; ++i) {
    MLXN_TRY(check_argument(*params.weights[i], {kOp, kWeights[i], weight, rows.dim}));
    MLXN_TRY(check_argument(*params.outputs[i],
                            {kOp, kOutputs[i], input.dtype(), input.element_count()}));
  }
  MLXN_TRY(check_arguments(kOp, {{"hidden weight", params.hidden_weight}}, weight, rows.dim));
  MLXN_TRY(check_arguments(kOp, {{"hidden", params.hidden}, {"sum", params.sum}}, input.dtype(),
                           input.element_count()));
  MLXN_TRY(check_alias(params));
  return rows;
}

}  // namespace

Status triple_norm(ComputeEncoder& encoder, const TripleNormParams& params) {
  const auto& [input, weights, outputs, eps, hidden_or_none, hidden_weight_or_none, sum_or_none] =
      params;
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, input.dtype()));
  MLXN_ASSIGN(const Rows rows, check(params));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const Buffer &hidden = present_or(hidden_or_none, input),
               &hidden_weight = present_or(hidden_weight_or_none, *weights[0]),
               &sum = present_or(sum_or_none, *outputs[0]);
  const TripleNormArgs args = {rows.dim, eps, hidden_or_none != nullptr};
  return dispatch_rows(
      encoder, rows,
      {.pipeline = pipeline,
       .bindings = {{0, input},
                    {1, hidden},
                    {2, hidden_weight},
                    {3, weights[0]},
                    {4, weights[1]},
                    {5, weights[2]},
                    {6, sum},
                    {7, outputs[0]},
                    {8, outputs[1]},
                    {9, outputs[2]},
                    {10, as_bytes(args)}},
       .reads = {&input, &hidden, &hidden_weight, weights[0], weights[1], weights[2]},
       .writes = {&sum, outputs[0], outputs[1], outputs[2]}});
}

}  // namespace mlxn
