#include "mlxn/ops/matmul/product.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"

namespace mlxn {
namespace {

// Rows of the input that a threadgroup takes at once.
uint32_t rows_at_once(uint32_t rows) {
  return rows == 1 ? 1 : rows <= 4 ? 4 : kMatvecRows;
}

uint64_t groups(uint64_t count, uint64_t each) {
  return (count + each - 1) / each;
}

}  // namespace

Result<MatmulArgs> check_product(std::string_view op, const MatmulParams& params) {
  MLXN_ASSIGN(const Matrix weights, matrix_of(op, "weights", params.weights));
  MLXN_ASSIGN(const uint32_t columns, fits_32_bits(op, "rows of weights", weights.rows));
  MLXN_ASSIGN(const Rows rows, rows_of(op, "input", params.input));
  if (rows.dim != weights.columns) {
    return Error(ErrorCode::kShapeMismatch,
                 str(op, ": input has rows of ", rows.dim, " elements, shape ",
                     params.input.shape().to_string(), ", expected ", weights.columns));
  }
  MLXN_TRY(
      check_argument(params.input, {op, "input", Dtype::kF32, uint64_t{rows.count} * rows.dim}));
  MLXN_TRY(
      check_argument(params.output, {op, "output", Dtype::kF32, uint64_t{rows.count} * columns}));
  MLXN_TRY(check_apart(op, params.output, params.input, "input"));
  MLXN_TRY(check_apart(op, params.output, params.weights, "weights"));
  return MatmulArgs{rows.count, columns, rows.dim};
}

Result<std::string> product_kernel_name(std::string_view op, uint32_t rows, Dtype format) {
  return weight_kernel_name(str(op, "_", rows_at_once(rows)), format);
}

Status dispatch_product(ComputeEncoder& encoder, const MatmulArgs& args, Dispatch dispatch) {
  dispatch.grid = {groups(args.columns, kMatmulColumns), groups(args.rows, rows_at_once(args.rows)),
                   1};
  dispatch.threadgroup = {kMatmulLanes * kMatmulColumns, 1, 1};
  dispatch.kind = DispatchKind::kThreadgroups;
  dispatch.declared = true;
  return encoder.dispatch(dispatch);
}

}  // namespace mlxn
