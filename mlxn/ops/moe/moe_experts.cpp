#include "mlxn/ops/moe/moe_experts.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/moe/moe_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "moe_experts";
constexpr float kNegligible = 1e-10f;

Status check_expert(const MoeExpertsParams& params, const MoeExpert& expert, uint64_t dim,
                    uint64_t inner) {
  MLXN_TRY(check_argument(expert.gate, ExpectedShape{kOp, "gate", Dtype::kF32, {inner, dim}}));
  MLXN_TRY(check_argument(expert.up, ExpectedShape{kOp, "up", Dtype::kF32, {inner, dim}}));
  MLXN_TRY(check_argument(expert.down, ExpectedShape{kOp, "down", Dtype::kF32, {dim, inner}}));
  for (const Buffer* output : {&params.output, &params.hidden}) {
    MLXN_TRY(check_apart(kOp, *output, expert.gate, "gate"));
    MLXN_TRY(check_apart(kOp, *output, expert.up, "up"));
    MLXN_TRY(check_apart(kOp, *output, expert.down, "down"));
  }
  if (std::isfinite(expert.weight)) return {};
  return Error(ErrorCode::kInvalidArgument,
               str(kOp, ": weight ", expert.weight, ", expected a finite number"));
}

Result<MoeExpertArgs> check(const MoeExpertsParams& params) {
  const auto& [input, output, hidden, experts, activation] = params;
  MLXN_TRY(check_present(kOp, "input", input));
  MLXN_TRY(check_present(kOp, "hidden", hidden));
  const uint64_t dim = input.element_count(), inner = hidden.element_count();
  MLXN_TRY(check_argument(input, {kOp, "input", Dtype::kF32, dim}));
  MLXN_TRY(check_argument(hidden, {kOp, "hidden", Dtype::kF32, inner}));
  MLXN_TRY(check_argument(output, {kOp, "output", Dtype::kF32, dim}));
  MLXN_TRY(check_apart(kOp, output, input, "input"));
  MLXN_TRY(check_apart(kOp, hidden, input, "input"));
  MLXN_TRY(check_apart(kOp, output, hidden, "hidden"));
  if (experts.empty()) {
    return Error(ErrorCode::kInvalidArgument, str(kOp, ": no experts, expected at least one"));
  }
  for (const MoeExpert& expert : experts) MLXN_TRY(check_expert(params, expert, dim, inner));
  MLXN_ASSIGN(const uint32_t narrow_dim, fits_32_bits(kOp, "columns", dim));
  MLXN_ASSIGN(const uint32_t narrow_inner, fits_32_bits(kOp, "inner columns", inner));
  return MoeExpertArgs{.dim = narrow_dim,
                       .inner = narrow_inner,
                       .activation = static_cast<uint32_t>(activation),
                       .first = 1,
                       .weight = 0};
}

Status run_hidden(ComputeEncoder& encoder, const Pipeline& pipeline, const MoeExpertsParams& params,
                  const MoeExpert& expert, const MoeExpertArgs& args) {
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, expert.gate},
                                        {1, expert.up},
                                        {2, params.input},
                                        {3, params.hidden},
                                        {4, as_bytes(args)}},
                           .grid = {args.inner, 1, 1},
                           .threadgroup = {32, 1, 1},
                           .declared = true,
                           .reads = {&expert.gate, &expert.up, &params.input},
                           .writes = {&params.hidden}});
}

Status run_down(ComputeEncoder& encoder, const Pipeline& pipeline, const MoeExpertsParams& params,
                const MoeExpert& expert, const MoeExpertArgs& args) {
  return encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = {{0, expert.down}, {1, params.hidden}, {2, params.output}, {3, as_bytes(args)}},
       .grid = {args.dim, 1, 1},
       .threadgroup = {32, 1, 1},
       .declared = true,
       .reads = {&expert.down, &params.hidden, &params.output},
       .writes = {&params.output}});
}

}  // namespace

Status moe_experts(ComputeEncoder& encoder, const MoeExpertsParams& params) {
  MLXN_ASSIGN(MoeExpertArgs args, check(params));
  const Device& device = encoder.device();
  MLXN_ASSIGN(const Pipeline hidden, builtin_pipeline(device, "moe_experts_hidden_f32"));
  MLXN_ASSIGN(const Pipeline down, builtin_pipeline(device, "moe_experts_down_f32"));
  for (const MoeExpert& expert : params.experts) {
    if (std::abs(expert.weight) < kNegligible) continue;
    if (args.first == 0) MLXN_TRY(encoder.memory_barrier());
    MLXN_TRY(run_hidden(encoder, hidden, params, expert, args));
    MLXN_TRY(encoder.memory_barrier());
    args.weight = expert.weight;
    MLXN_TRY(run_down(encoder, down, params, expert, args));
    args.first = 0;
  }
  if (args.first == 0) return {};
  args.inner = 0;  // no expert counts: a sum of nothing
  return run_down(encoder, down, params, params.experts[0], args);
}

}  // namespace mlxn
