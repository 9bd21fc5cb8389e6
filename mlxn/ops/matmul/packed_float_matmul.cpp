#include "mlxn/ops/matmul/packed_float_matmul.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/rounded_rows.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/matmul/packed_float_matmul_args.h"
#include "mlxn/ops/op_kind.h"
#include "mlxn/quant/pack_rows.h"

namespace mlxn {
namespace {

Result<PackedFloatMatmulArgs> check(std::string_view op, const PackedFloatMatmulParams& params) {
  const auto& [weights, input, output] = params;
  if (!weights.is_float()) {
    return Error(ErrorCode::kUnsupported, str(op, ": weights are ", to_string(weights.format),
                                              ", expected f32, f16 or bf16"));
  }
  auto layout = quant::packed_layout(weights.format, weights.rows, weights.depth);
  if (!layout) return std::move(layout.error().add_context(std::string(op)));
  MLXN_TRY(check_argument(weights.words, {op, "weights", Dtype::kU32, layout->packed_bytes() / 4}));
  MLXN_ASSIGN(const uint32_t columns, fits_32_bits(op, "rows of weights", weights.rows));
  MLXN_ASSIGN(const Rows rows, rows_of(op, "input", input));
  if (rows.dim != weights.depth) {
    return Error(ErrorCode::kShapeMismatch,
                 str(op, ": input has rows of ", rows.dim, " elements, shape ",
                     input.shape().to_string(), ", expected ", weights.depth));
  }
  MLXN_TRY(check_argument(input, {op, "input", Dtype::kF32, uint64_t{rows.count} * rows.dim}));
  MLXN_TRY(check_argument(output, {op, "output", Dtype::kF32, uint64_t{rows.count} * columns}));
  MLXN_TRY(check_apart(op, output, input, "input"));
  MLXN_TRY(check_apart(op, output, weights.words, "weights"));
  return PackedFloatMatmulArgs{rows.count, columns, rows.dim};
}

}  // namespace

Status packed_float_matmul(ComputeEncoder& encoder, const PackedFloatMatmulParams& params) {
  constexpr const char* kOp = "packed_float_matmul";
  const auto& [weights, input, output] = params;
  MLXN_ASSIGN(const PackedFloatMatmulArgs args, check(kOp, params));
  const uint64_t tile = rounded_tile(args.rows);
  const std::string kernel = str(kOp, "_", tile, "_", to_string(weights.format));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const uint64_t tiles = (args.rows + tile - 1) / tile,
                 groups = (uint64_t{args.columns} + kPackedColumns - 1) / kPackedColumns;
  return encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = {{0, weights.words}, {1, input}, {2, output}, {3, as_bytes(args)}},
       .grid = {tiles, groups, 1},
       .threadgroup = {kPackedColumns, 1, 1},
       .kind = DispatchKind::kThreadgroups,
       .declared = true,
       .reads = {&weights.words, &input},
       .writes = {&output},
       .op = OpKind::kPackedFloatMatmul});
}

}  // namespace mlxn
