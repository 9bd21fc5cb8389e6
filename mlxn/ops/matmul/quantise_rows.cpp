#include "mlxn/ops/matmul/quantise_rows.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/quantise_rows_args.h"
#include "mlxn/ops/common/recorded.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/op_kind.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "quantise_rows";

uint64_t runs_of(const QuantiseRowsArgs& args) {
  return (uint64_t{args.blocks} + kRoundedRun - 1) / kRoundedRun;
}

}  // namespace

Result<Shape> rounded_shape(uint64_t rows, uint64_t depth) {
  if (depth == 0 || depth % kRoundedBlock != 0) {
    return Error(
        ErrorCode::kShapeMismatch,
        str(kOp, ": rows of ", depth, " elements, expected a multiple of ", kRoundedBlock));
  }
  MLXN_ASSIGN(const uint32_t count, fits_32_bits(kOp, "rows", rows));
  const uint64_t tile = rounded_tile(count);
  const Shape shape = {rows / tile + (rows % tile != 0), depth / kRoundedBlock, tile,
                       kRoundedWords};
  MLXN_TRY(size_bytes(Dtype::kI32, shape));
  return shape;
}

Result<QuantiseRowsArgs> check_rounding(std::string_view op, const Buffer& input,
                                        const Buffer& output) {
  MLXN_ASSIGN(const Rows rows, rows_of(op, "input", input));
  MLXN_TRY(check_argument(input, {op, "input", Dtype::kF32, uint64_t{rows.count} * rows.dim}));
  MLXN_ASSIGN(const Shape shape, rounded_shape(rows.count, rows.dim));
  MLXN_TRY(check_argument(output, ExpectedShape{op, "output", Dtype::kI32, shape}));
  MLXN_TRY(check_apart(op, output, input, "input"));
  return QuantiseRowsArgs{rows.count, rows.dim / kRoundedBlock, rounded_tile(rows.count)};
}

Status dispatch_rounding(ComputeEncoder& encoder, const QuantiseRowsArgs& args, Dispatch dispatch) {
  dispatch.grid = {args.rows, runs_of(args), 1};
  dispatch.threadgroup = {kRoundedBlock, 1, 1};
  dispatch.kind = DispatchKind::kThreadgroups;
  dispatch.declared = true;
  return encoder.dispatch(dispatch);
}

Status quantise_rows(ComputeEncoder& encoder, const QuantiseRowsParams& params) {
  const auto& [input, output] = params;
  MLXN_ASSIGN(const QuantiseRowsArgs args, check_rounding(kOp, input, output));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "quantise_rows_f32"));
  return dispatch_rounding(encoder, args,
                           {.pipeline = pipeline,
                            .bindings = {{0, input}, {1, output}, {2, as_bytes(args)}},
                            .reads = {&input},
                            .writes = {&output},
                            .op = OpKind::kQuantiseRows});
}

std::optional<Buffer> recorded_rounding(const CapturedNode& node, const Buffer& input) {
  const auto args = recorded_args<QuantiseRowsArgs>(node, 2);
  if (node.op != OpKind::kQuantiseRows || !args) return std::nullopt;
  if (recorded_dtype(node, "quantise_rows_") != Dtype::kF32) return std::nullopt;
  const uint64_t rows = input.shape()[0], depth = input.shape()[1];
  const auto shape = rounded_shape(rows, depth);
  const auto recorded = recorded_buffer(node, 0, Dtype::kF32, input.shape());
  if (!shape || !recorded || !same_bytes(*recorded, input)) return std::nullopt;
  if (args->rows != rows || uint64_t{args->blocks} * kRoundedBlock != depth) return std::nullopt;
  if (args->tile != (*shape)[2] ||
      !has_grid(node, DispatchKind::kThreadgroups, args->rows, runs_of(*args)))
    return std::nullopt;
  return recorded_buffer(node, 1, Dtype::kI32, *shape);
}

}  // namespace mlxn
