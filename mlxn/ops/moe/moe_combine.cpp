#include "mlxn/ops/moe/moe_combine.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/moe/moe_args.h"

namespace mlxn {
namespace {

struct Sizes {
  uint32_t tokens, slots, dim;
};

Result<Sizes> check(std::string_view op, const Buffer& experts, const Buffer& weights,
                    const Buffer& output) {
  MLXN_TRY(check_present(op, "experts", experts));
  const Shape& shape = experts.shape();
  if (shape.size() != 3) {
    return Error(ErrorCode::kShapeMismatch, str(op, ": experts has shape ", shape.to_string(),
                                                ", expected [tokens, slots, dim]"));
  }
  MLXN_ASSIGN(const uint32_t tokens, fits_32_bits(op, "tokens", shape[0]));
  MLXN_ASSIGN(const uint32_t slots, fits_32_bits(op, "slots", shape[1]));
  MLXN_ASSIGN(const uint32_t dim, fits_32_bits(op, "columns", shape[2]));
  MLXN_TRY(check_argument(weights, ExpectedShape{op, "weights", Dtype::kF32, {tokens, slots}}));
  MLXN_TRY(check_argument(output, {op, "output", Dtype::kF32, uint64_t{tokens} * dim}));
  MLXN_TRY(check_apart(op, output, experts, "experts"));
  MLXN_TRY(check_apart(op, output, weights, "weights"));
  return Sizes{tokens, slots, dim};
}

Status check_addend(std::string_view op, std::string_view name, const Buffer& addend,
                    const Buffer& output) {
  MLXN_TRY(check_argument(addend, {op, name, Dtype::kF32, output.element_count()}));
  return check_overlap(op, output, addend, name);
}

}  // namespace

Status moe_combine(ComputeEncoder& encoder, const MoeCombineParams& params) {
  constexpr const char* kOp = "moe_combine";
  const auto& [experts, weights, output, residual, shared, shared_logits] = params;
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, experts.dtype()));
  MLXN_ASSIGN(const Sizes sizes, check(kOp, experts, weights, output));
  if (residual) MLXN_TRY(check_addend(kOp, "residual", *residual, output));
  if ((shared != nullptr) != (shared_logits != nullptr)) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": one of shared and shared logits, expected both or none"));
  }
  if (shared) {
    MLXN_TRY(check_addend(kOp, "shared", *shared, output));
    MLXN_TRY(check_argument(*shared_logits, {kOp, "shared logits", Dtype::kF32, sizes.tokens}));
    MLXN_TRY(check_apart(kOp, output, *shared_logits, "shared logits"));
  }
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const MoeCombineArgs args = {sizes.dim, sizes.slots, residual ? 1u : 0u, shared ? 1u : 0u};
  const Buffer& added = residual ? *residual : weights;
  const Buffer& common = shared ? *shared : weights;
  const Buffer& logits = shared ? *shared_logits : weights;
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, experts},
                                        {1, weights},
                                        {2, added},
                                        {3, common},
                                        {4, logits},
                                        {5, output},
                                        {6, as_bytes(args)}},
                           .grid = {sizes.dim, sizes.tokens, 1},
                           .threadgroup = {std::min(256u, pipeline.max_threads()), 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&experts, &weights, &added, &common, &logits},
                           .writes = {&output}});
}

Status moe_combine_norm(ComputeEncoder& encoder, const MoeCombineNormParams& params) {
  constexpr const char* kOp = "moe_combine_norm";
  const auto& [experts, weights, norm_weight, residual, output, residual_weight, eps] = params;
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, experts.dtype()));
  MLXN_ASSIGN(const Sizes sizes, check(kOp, experts, weights, output));
  MLXN_TRY(check_addend(kOp, "residual", residual, output));
  MLXN_TRY(check_argument(norm_weight, {kOp, "norm weight", Dtype::kF32, sizes.dim}));
  MLXN_TRY(check_apart(kOp, output, norm_weight, "norm weight"));
  if (residual_weight) {
    MLXN_TRY(check_argument(*residual_weight, {kOp, "residual weight", Dtype::kF32, sizes.dim}));
    MLXN_TRY(check_apart(kOp, output, *residual_weight, "residual weight"));
  }
  if (!std::isfinite(eps) || eps < 0) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": eps ", eps, ", expected a number from 0 up"));
  }
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const MoeCombineNormArgs args = {sizes.dim, sizes.slots, residual_weight ? 1u : 0u, eps};
  const Buffer& second = residual_weight ? *residual_weight : norm_weight;
  return dispatch_rows(encoder, {sizes.tokens, sizes.dim},
                       {.pipeline = pipeline,
                        .bindings = {{0, experts},
                                     {1, weights},
                                     {2, norm_weight},
                                     {3, residual},
                                     {4, second},
                                     {5, output},
                                     {6, as_bytes(args)}},
                        .reads = {&experts, &weights, &norm_weight, &residual, &second},
                        .writes = {&output}});
}

}  // namespace mlxn
