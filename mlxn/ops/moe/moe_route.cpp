#include "mlxn/ops/moe/moe_route.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/moe/moe_args.h"

namespace mlxn {
namespace {

// For what moe_gate takes tokens together: enough of them for all workers, and experts few enough
// for their logits to lie in threadgroup memory.
constexpr uint64_t kManyTokens = 64, kMostTogether = 1024;

struct Choice {
  const char* op;
  const Buffer& ids;
  const Buffer& weights;
  const MoeRouting& routing;
  uint64_t tokens, experts;
};

Status check_groups(const Choice& choice, uint64_t selected) {
  const MoeRouting& r = choice.routing;
  const bool counts = r.groups >= 1 && r.groups <= kMoeMostGroups && r.kept_groups >= 1 &&
                      r.kept_groups <= r.groups && choice.experts % r.groups == 0;
  const uint64_t size = counts ? choice.experts / r.groups : 0;
  const bool best = r.best_of_group >= 1 && r.best_of_group <= 2 && r.best_of_group <= size;
  if (!counts || !best) {
    return Error(ErrorCode::kInvalidArgument,
                 str(choice.op, ": ", choice.experts, " experts, the best ", r.kept_groups, " of ",
                     r.groups, " groups by their best ", r.best_of_group,
                     ", expected at most 32 equal groups and their best 1 or 2"));
  }
  if (selected >= 1 && selected <= kMoeMostSelected && selected <= size * r.kept_groups) return {};
  return Error(ErrorCode::kOutOfRange,
               str(choice.op, ": ", selected, " of ", size * r.kept_groups,
                   " experts, expected at least 1 and at most ", kMoeMostSelected, " of them"));
}

Status check_tables(const Choice& choice) {
  const MoeRouting& r = choice.routing;
  for (const auto& [table, name] : {std::pair(r.bias, "bias"), {r.expert_scale, "expert scale"}}) {
    if (!table) continue;
    MLXN_TRY(check_argument(*table, {choice.op, name, Dtype::kF32, choice.experts}));
    MLXN_TRY(check_apart(choice.op, choice.ids, *table, name));
    MLXN_TRY(check_apart(choice.op, choice.weights, *table, name));
  }
  if (std::isfinite(r.scale)) return {};
  return Error(ErrorCode::kInvalidArgument,
               str(choice.op, ": scale ", r.scale, ", expected a finite number"));
}

Result<MoeRouteArgs> check(const Choice& choice) {
  MLXN_ASSIGN(const Matrix ids, matrix_of(choice.op, "ids", choice.ids));
  const uint64_t selected = ids.columns;
  const Shape shape = {choice.tokens, selected};
  MLXN_TRY(check_argument(choice.ids, ExpectedShape{choice.op, "ids", Dtype::kU32, shape}));
  MLXN_TRY(check_argument(choice.weights, ExpectedShape{choice.op, "weights", Dtype::kF32, shape}));
  MLXN_TRY(check_apart(choice.op, choice.weights, choice.ids, "ids"));
  MLXN_TRY(fits_32_bits(choice.op, "tokens", choice.tokens));
  if (choice.experts > kMoeMostExperts) {
    return Error(ErrorCode::kOutOfRange, str(choice.op, ": ", choice.experts,
                                             " experts, expected at most ", kMoeMostExperts));
  }
  MLXN_TRY(check_groups(choice, selected));
  MLXN_TRY(check_tables(choice));
  const MoeRouting& r = choice.routing;
  return MoeRouteArgs{.experts = static_cast<uint32_t>(choice.experts),
                      .selected = static_cast<uint32_t>(selected),
                      .scoring = static_cast<uint32_t>(r.scoring),
                      .groups = r.groups,
                      .kept_groups = r.kept_groups,
                      .best_of_group = r.best_of_group,
                      .has_bias = r.bias ? 1u : 0u,
                      .has_expert_scale = r.expert_scale ? 1u : 0u,
                      .renormalise = r.renormalise ? 1u : 0u,
                      .scale_first = r.scale_first ? 1u : 0u,
                      .scale = r.scale};
}

// Fills in the grid, the memory and, where there is none, a threadgroup of one simdgroup, for
// `together` tokens.
Status dispatch_tokens(ComputeEncoder& encoder, const Choice& choice, uint32_t together,
                       Dispatch dispatch) {
  const uint64_t bytes = choice.experts * sizeof(float);
  const ThreadgroupMemory memory[] = {{0, threadgroup_bytes(together * bytes)},
                                      {1, threadgroup_bytes(bytes)}};
  const Buffer* writes[] = {&choice.ids, &choice.weights};
  dispatch.grid = {(choice.tokens - 1) / together + 1, 1, 1};
  if (dispatch.threadgroup.width == 1) dispatch.threadgroup = {32, 1, 1};
  dispatch.threadgroup_memory = memory;
  dispatch.declared = true;
  dispatch.writes = writes;
  return encoder.dispatch(dispatch);
}

}  // namespace

Status moe_route(ComputeEncoder& encoder, const MoeRouteParams& params) {
  constexpr const char* kOp = "moe_route";
  const auto& [logits, ids, weights, routing] = params;
  MLXN_ASSIGN(const Matrix rows, matrix_of(kOp, "logits", logits));
  MLXN_TRY(check_argument(logits, {kOp, "logits", Dtype::kF32, logits.element_count()}));
  const Choice choice = {kOp, ids, weights, routing, rows.rows, rows.columns};
  MLXN_ASSIGN(const MoeRouteArgs args, check(choice));
  MLXN_TRY(check_apart(kOp, ids, logits, "logits"));
  MLXN_TRY(check_apart(kOp, weights, logits, "logits"));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "moe_route_f32"));
  const Buffer& bias = routing.bias ? *routing.bias : logits;
  const Buffer& scales = routing.expert_scale ? *routing.expert_scale : logits;
  const Binding bindings[] = {{0, logits}, {1, bias},    {2, scales},
                              {3, ids},    {4, weights}, {5, as_bytes(args)}};
  const Buffer* reads[] = {&logits, &bias, &scales};
  return dispatch_tokens(encoder, choice, 1,
                         {.pipeline = pipeline, .bindings = bindings, .reads = reads});
}

Status moe_gate(ComputeEncoder& encoder, const MoeGateParams& params) {
  constexpr const char* kOp = "moe_gate";
  const auto& [hidden, norm_weight, router, ids, weights, eps, routing] = params;
  MLXN_ASSIGN(const Matrix rows, matrix_of(kOp, "hidden", hidden));
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, hidden.dtype()));
  MLXN_ASSIGN(const Matrix experts, matrix_of(kOp, "router", router));
  MLXN_TRY(check_argument(router,
                          ExpectedShape{kOp, "router", Dtype::kF32, {experts.rows, rows.columns}}));
  MLXN_TRY(check_argument(norm_weight, {kOp, "norm weight", Dtype::kF32, rows.columns}));
  const Choice choice = {kOp, ids, weights, routing, rows.rows, experts.rows};
  MLXN_ASSIGN(const MoeRouteArgs route, check(choice));
  for (const Buffer* output : {&ids, &weights}) {
    MLXN_TRY(check_apart(kOp, *output, hidden, "hidden"));
    MLXN_TRY(check_apart(kOp, *output, norm_weight, "norm weight"));
    MLXN_TRY(check_apart(kOp, *output, router, "router"));
  }
  if (!std::isfinite(eps) || eps < 0) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": eps ", eps, ", expected a number from 0 up"));
  }
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  // A processor runs the simdgroups of a threadgroup one after the other: one is enough. It takes
  // several tokens for each row of the router, which its nearest caches do not hold.
  const bool processor = encoder.device().limits().is_processor;
  const uint32_t threads = processor ? 32u : std::min(256u, pipeline.max_threads()) / 32 * 32;
  const bool many = rows.rows >= kManyTokens && experts.rows <= kMostTogether;
  const uint32_t together = processor && many ? kMoeGateTokens : 1;
  const MoeGateArgs args = {route, static_cast<uint32_t>(rows.rows), together, rows.columns, eps};
  const Buffer& bias = routing.bias ? *routing.bias : router;
  const Buffer& scales = routing.expert_scale ? *routing.expert_scale : router;
  const Binding bindings[] = {{0, hidden}, {1, norm_weight}, {2, router},  {3, bias},
                              {4, scales}, {5, ids},         {6, weights}, {7, as_bytes(args)}};
  const Buffer* reads[] = {&hidden, &norm_weight, &router, &bias, &scales};
  return dispatch_tokens(
      encoder, choice, together,
      {.pipeline = pipeline, .bindings = bindings, .threadgroup = {threads, 1, 1}, .reads = reads});
}

}  // namespace mlxn
