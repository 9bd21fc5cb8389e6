#include "mlxn/ops/matmul/matmul.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/matmul/matmul_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "matmul";
constexpr uint32_t kColumns = 4;  // of a threadgroup, a simdgroup for each

Result<MatmulArgs> check(const MatmulParams& params) {
  MLXN_ASSIGN(const Matrix weights, matrix_of(kOp, "weights", params.weights));
  MLXN_ASSIGN(const uint32_t columns, fits_32_bits(kOp, "rows of weights", weights.rows));
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "input", params.input));
  if (rows.dim != weights.columns) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": input has rows of ", rows.dim, " elements, shape ",
                     params.input.shape().to_string(), ", expected ", weights.columns));
  }
  MLXN_TRY(
      check_argument(params.input, {kOp, "input", Dtype::kF32, uint64_t{rows.count} * rows.dim}));
  MLXN_TRY(
      check_argument(params.output, {kOp, "output", Dtype::kF32, uint64_t{rows.count} * columns}));
  MLXN_TRY(check_apart(kOp, params.output, params.input, "input"));
  MLXN_TRY(check_apart(kOp, params.output, params.weights, "weights"));
  return MatmulArgs{rows.count, columns, rows.dim};
}

// Rows of the input that a threadgroup takes at once.
uint32_t rows_at_once(uint32_t rows) {
  return rows == 1 ? 1 : rows <= 4 ? 4 : kMatvecRows;
}

}  // namespace

Status matmul(ComputeEncoder& encoder, const MatmulParams& params) {
  MLXN_ASSIGN(const MatmulArgs args, check(params));
  const uint32_t at_once = rows_at_once(args.rows);
  MLXN_ASSIGN(const std::string kernel,
              weight_kernel_name(str(kOp, "_", at_once), params.weights.dtype()));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const auto groups = [](uint64_t count, uint64_t each) { return (count + each - 1) / each; };
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, params.weights},
                                        {1, params.input},
                                        {2, params.output},
                                        {3, as_bytes(args)}},
                           .grid = {groups(args.columns, kColumns), groups(args.rows, at_once), 1},
                           .threadgroup = {32 * kColumns, 1, 1},
                           .kind = DispatchKind::kThreadgroups,
                           .declared = true,
                           .reads = {&params.weights, &params.input},
                           .writes = {&params.output}});
}

}  // namespace mlxn
