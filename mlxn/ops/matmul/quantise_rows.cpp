#include "mlxn/ops/matmul/quantise_rows.h"

#include <algorithm>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/matmul/quantise_rows_args.h"
#include "mlxn/ops/op_kind.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "quantise_rows";

}  // namespace

Result<Shape> rounded_shape(uint64_t rows, uint64_t depth) {
  if (depth == 0 || depth % kRoundedBlock != 0) {
    return Error(
        ErrorCode::kShapeMismatch,
        str(kOp, ": rows of ", depth, " elements, expected a multiple of ", kRoundedBlock));
  }
  MLXN_ASSIGN(const uint32_t count, fits_32_bits(kOp, "rows", rows));
  const uint64_t tile = rounded_tile(count);
  const Shape shape = {rows / tile + (rows % tile != 0), depth / kRoundedBlock, kRoundedWords,
                       tile};
  MLXN_TRY(size_bytes(Dtype::kI32, shape));
  return shape;
}

Status quantise_rows(ComputeEncoder& encoder, const QuantiseRowsParams& params) {
  const auto& [input, output] = params;
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "input", input));
  MLXN_TRY(check_argument(input, {kOp, "input", Dtype::kF32, uint64_t{rows.count} * rows.dim}));
  MLXN_ASSIGN(const Shape shape, rounded_shape(rows.count, rows.dim));
  MLXN_TRY(check_argument(output, ExpectedShape{kOp, "output", Dtype::kI32, shape}));
  MLXN_TRY(check_apart(kOp, output, input, "input"));
  QuantiseRowsArgs args = {rows.count, rows.dim / kRoundedBlock, rounded_tile(rows.count), 0};
  MLXN_ASSIGN(args.count, fits_32_bits(kOp, "blocks", shape[0] * shape[1] * shape[3]));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "quantise_rows_f32"));
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, input}, {1, output}, {2, as_bytes(args)}},
                           .grid = {args.count, 1, 1},
                           .threadgroup = {std::min(32u, args.count), 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&input},
                           .writes = {&output},
                           .op = OpKind::kQuantiseRows});
}

}  // namespace mlxn
