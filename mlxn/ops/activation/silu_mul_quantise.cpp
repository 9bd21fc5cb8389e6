#include "mlxn/ops/activation/silu_mul_quantise.h"

#include "mlxn/ops/activation/silu_mul_args.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/recorded.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/matmul/quantise_rows.h"
#include "mlxn/ops/op_kind.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "silu_mul_quantise";

std::optional<FusionMatch> match(const FusionSite& site) {
  const CapturedNode* producer = site.producer(0);
  const auto rounding = recorded_args<QuantiseRowsArgs>(site.last(), 2);
  if (!producer || !rounding || recorded_dtype(*producer, "silu_mul_") != Dtype::kF32)
    return std::nullopt;
  const auto args = recorded_args<SiluMulArgs>(*producer, 3);
  const Shape shape = {rounding->rows, uint64_t{rounding->blocks} * kRoundedBlock};
  if (!args || args->count != shape[0] * shape[1]) return std::nullopt;
  if (!has_grid(*producer, DispatchKind::kThreads, args->count)) return std::nullopt;
  const auto gate = recorded_buffer(*producer, 0, Dtype::kF32, shape);
  const auto up = recorded_buffer(*producer, 1, Dtype::kF32, shape);
  const auto product = recorded_buffer(*producer, 2, Dtype::kF32, shape);
  if (!gate || !up || !product) return std::nullopt;
  const auto output = recorded_rounding(site.last(), *product);
  if (!output) return std::nullopt;
  return FusionMatch{{producer},
                     [gate = *gate, up = *up, output = *output](ComputeEncoder& encoder) {
                       return silu_mul_quantise(encoder, {gate, up, output});
                     },
                     site.last().threadgroup};
}

}  // namespace

Status silu_mul_quantise(ComputeEncoder& encoder, const SiluMulQuantiseParams& params) {
  const auto& [gate, up, output] = params;
  MLXN_ASSIGN(const QuantiseRowsArgs args, check_rounding(kOp, gate, output));
  MLXN_TRY(check_argument(up, ExpectedShape{kOp, "up", Dtype::kF32, gate.shape()}));
  MLXN_TRY(check_apart(kOp, output, up, "up"));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "silu_mul_quantise_f32"));
  return dispatch_rounding(encoder, args,
                           {.pipeline = pipeline,
                            .bindings = {{0, gate}, {1, up}, {2, output}, {3, as_bytes(args)}},
                            .reads = {&gate, &up},
                            .writes = {&output}});
}

const FusionRule kSiluMulQuantiseRule = {"silu_mul + quantise_rows", OpKind::kQuantiseRows.name,
                                         match};

}  // namespace mlxn
