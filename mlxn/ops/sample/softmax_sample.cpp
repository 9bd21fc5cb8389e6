#include "mlxn/ops/sample/softmax_sample.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/sample/sorted_rows_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "softmax_sample";

Result<Rows> check(const SoftmaxSampleParams& params) {
  const auto& [logits, uniforms, tokens, logprobs, temperature] = params;
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "logits", logits));
  MLXN_TRY(check_argument(logits, {kOp, "logits", Dtype::kF32, logits.element_count()}));
  MLXN_TRY(check_argument(uniforms, {kOp, "uniforms", Dtype::kF32, rows.count}));
  MLXN_TRY(check_argument(tokens, {kOp, "tokens", Dtype::kU32, rows.count}));
  MLXN_TRY(check_argument(logprobs, {kOp, "logprobs", Dtype::kF32, rows.count}));
  for (const Buffer* output : {&tokens, &logprobs}) {
    MLXN_TRY(check_apart(kOp, *output, logits, "logits"));
    MLXN_TRY(check_apart(kOp, *output, uniforms, "uniforms"));
  }
  MLXN_TRY(check_apart(kOp, tokens, logprobs, "logprobs"));
  if (std::isfinite(temperature) && temperature > 0) return rows;
  return Error(ErrorCode::kInvalidArgument,
               str(kOp, ": temperature ", temperature, ", expected a positive number"));
}

}  // namespace

Status softmax_sample(ComputeEncoder& encoder, const SoftmaxSampleParams& params) {
  MLXN_ASSIGN(const Rows rows, check(params));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "softmax_sample_f32"));
  const SoftmaxSampleArgs args = {rows.dim, params.temperature};
  const Rows whole = {rows.count, rows.dim < 32 ? 32 : rows.dim};  // at least a simdgroup
  return dispatch_rows(encoder, whole,
                       {.pipeline = pipeline,
                        .bindings = {{0, params.logits},
                                     {1, params.uniforms},
                                     {2, params.tokens},
                                     {3, params.logprobs},
                                     {4, as_bytes(args)}},
                        .reads = {&params.logits, &params.uniforms},
                        .writes = {&params.tokens, &params.logprobs}});
}

}  // namespace mlxn
