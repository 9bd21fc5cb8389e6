#include "mlxn/ops/ssm/gate_beta.h"

#include <algorithm>

#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/ssm/gate_beta_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "gate_beta";

Status check_output(const GateBetaParams& params, const Buffer& output, const Buffer& own) {
  MLXN_TRY(check_overlap(kOp, output, own, "its input"));
  const Buffer& other = &own == &params.alpha ? params.beta_logits : params.alpha;
  MLXN_TRY(check_apart(kOp, output, other, "the other input"));
  MLXN_TRY(check_apart(kOp, output, params.bias, "bias"));
  return check_apart(kOp, output, params.a, "a");
}

}  // namespace

Status gate_beta(ComputeEncoder& encoder, const GateBetaParams& params) {
  MLXN_ASSIGN(const Matrix rows, matrix_of(kOp, "alpha", params.alpha));
  const Shape& shape = params.alpha.shape();
  for (const auto& [buffer, name] : {std::pair(&params.alpha, "alpha"),
                                     {&params.beta_logits, "beta logits"},
                                     {&params.gate, "gate"},
                                     {&params.beta, "beta"}}) {
    MLXN_TRY(check_argument(*buffer, ExpectedShape{kOp, name, Dtype::kF32, shape}));
  }
  MLXN_TRY(check_argument(params.bias, {kOp, "bias", Dtype::kF32, rows.columns}));
  MLXN_TRY(check_argument(params.a, {kOp, "a", Dtype::kF32, rows.columns}));
  MLXN_TRY(check_output(params, params.gate, params.alpha));
  MLXN_TRY(check_output(params, params.beta, params.beta_logits));
  MLXN_TRY(check_apart(kOp, params.gate, params.beta, "beta"));
  MLXN_TRY(fits_32_bits(kOp, "tokens", rows.rows));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "gate_beta_f32"));
  const GateBetaArgs args = {rows.columns};
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, params.alpha},
                                        {1, params.beta_logits},
                                        {2, params.bias},
                                        {3, params.a},
                                        {4, params.gate},
                                        {5, params.beta},
                                        {6, as_bytes(args)}},
                           .grid = {rows.columns, rows.rows, 1},
                           .threadgroup = {std::min(64u, pipeline.max_threads()), 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&params.alpha, &params.beta_logits, &params.bias, &params.a},
                           .writes = {&params.gate, &params.beta}});
}

}  // namespace mlxn
