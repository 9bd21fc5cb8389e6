#include "mlxn/ops/norm/rms_norm_quantise.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/recorded.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/matmul/quantise_rows.h"
#include "mlxn/ops/norm/rms_norm_args.h"
#include "mlxn/ops/norm/rms_norm_quantise_args.h"
#include "mlxn/ops/op_kind.h"

namespace mlxn {
namespace {

struct Checked {
  Rows rows;
  RmsNormQuantiseArgs args;
};

Result<Checked> check(const char* op, const RmsNormParams& params) {
  const auto& [input, weight, output, eps] = params;
  MLXN_ASSIGN(const Rows rows, rows_of(op, "input", input));
  MLXN_TRY(check_argument(input, {op, "input", Dtype::kF32, uint64_t{rows.count} * rows.dim}));
  MLXN_TRY(check_argument(weight, {op, "weight", Dtype::kF32, rows.dim}));
  MLXN_ASSIGN(const Shape shape, rounded_shape(rows.count, rows.dim));
  MLXN_TRY(check_argument(output, ExpectedShape{op, "output", Dtype::kI32, shape}));
  MLXN_TRY(check_apart(op, output, input, "input"));
  MLXN_TRY(check_apart(op, output, weight, "weight"));
  if (!std::isfinite(eps) || eps < 0) {
    return Error(ErrorCode::kInvalidArgument,
                 str(op, ": eps ", eps, ", expected a number from 0 up"));
  }
  return Checked{rows, {eps, rows.count, rows.dim / kRoundedBlock, rounded_tile(rows.count)}};
}

// What a recorded norm of f32 rows reads and writes.
struct RecordedNorm {
  Buffer a, b, weight, sum, output;  // b and sum: of add_rms_norm alone
  float eps = 0;
  bool adds = false;
};

std::optional<RecordedNorm> read_norm(const CapturedNode& node) {
  RecordedNorm norm;
  norm.adds = recorded_dtype(node, "add_rms_norm_") == Dtype::kF32;
  if (!norm.adds && recorded_dtype(node, "rms_norm_") != Dtype::kF32) return std::nullopt;
  const auto args = recorded_args<RmsNormArgs>(node, norm.adds ? 5 : 3);
  constexpr float kMostDim = 1 << 24;
  if (!args || !(args->dim >= 1 && args->dim <= kMostDim)) return std::nullopt;  // NaN as well
  if (!has_grid(node, DispatchKind::kThreadgroups, node.grid.width)) return std::nullopt;
  const uint64_t dim = static_cast<uint64_t>(args->dim);
  const Shape shape = {node.grid.width, dim};
  const auto a = recorded_buffer(node, 0, Dtype::kF32, shape);
  const auto weight = recorded_buffer(node, norm.adds ? 2 : 1, Dtype::kF32, {dim});
  const auto output = recorded_buffer(node, norm.adds ? 4 : 2, Dtype::kF32, shape);
  if (!a || !weight || !output) return std::nullopt;
  norm.a = *a;
  norm.weight = *weight;
  norm.output = *output;
  norm.eps = args->eps;
  if (!norm.adds) return norm;
  const auto b = recorded_buffer(node, 1, Dtype::kF32, shape);
  const auto sum = recorded_buffer(node, 3, Dtype::kF32, shape);
  if (!b || !sum) return std::nullopt;
  norm.b = *b;
  norm.sum = *sum;
  return norm;
}

std::optional<FusionMatch> match(const FusionSite& site) {
  const CapturedNode* producer = site.producer(0);
  const auto norm = producer ? read_norm(*producer) : std::nullopt;
  if (!norm) return std::nullopt;
  const auto output = recorded_rounding(site.last(), norm->output);
  if (!output) return std::nullopt;
  return FusionMatch{{producer},
                     [norm = *norm, output = *output](ComputeEncoder& encoder) {
                       if (!norm.adds)
                         return rms_norm_quantise(encoder, {norm.a, norm.weight, output, norm.eps});
                       return add_rms_norm_quantise(
                           encoder, {norm.a, norm.b, norm.sum, norm.weight, output, norm.eps});
                     },
                     producer->threadgroup};
}

}  // namespace

Status rms_norm_quantise(ComputeEncoder& encoder, const RmsNormParams& params) {
  MLXN_ASSIGN(const Checked checked, check("rms_norm_quantise", params));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "rms_norm_quantise_f32"));
  const auto& [input, weight, output, eps] = params;
  return dispatch_rows(
      encoder, checked.rows,
      {.pipeline = pipeline,
       .bindings = {{0, input}, {1, weight}, {2, output}, {3, as_bytes(checked.args)}},
       .reads = {&input, &weight},
       .writes = {&output}});
}

Status add_rms_norm_quantise(ComputeEncoder& encoder, const AddRmsNormParams& params) {
  constexpr const char* kOp = "add_rms_norm_quantise";
  const auto& [a, b, sum, weight, output, eps] = params;
  MLXN_ASSIGN(const Checked checked, check(kOp, {a, weight, output, eps}));
  for (const auto& [buffer, name] : {std::pair(&b, "b"), std::pair(&sum, "sum")}) {
    MLXN_TRY(check_argument(*buffer, {kOp, name, Dtype::kF32, a.element_count()}));
    MLXN_TRY(check_apart(kOp, output, *buffer, name));
  }
  MLXN_TRY(check_overlap(kOp, sum, a, "a"));
  MLXN_TRY(check_overlap(kOp, sum, b, "b"));
  MLXN_TRY(check_apart(kOp, sum, weight, "weight"));
  MLXN_ASSIGN(const Pipeline pipeline,
              builtin_pipeline(encoder.device(), "add_rms_norm_quantise_f32"));
  return dispatch_rows(
      encoder, checked.rows,
      {.pipeline = pipeline,
       .bindings =
           {{0, a}, {1, b}, {2, weight}, {3, sum}, {4, output}, {5, as_bytes(checked.args)}},
       .reads = {&a, &b, &weight},
       .writes = {&sum, &output}});
}

const FusionRule kRmsNormQuantiseRule = {"rms_norm + quantise_rows", OpKind::kQuantiseRows.name,
                                         match};

}  // namespace mlxn
