#include "mlxn/ops/ssm/tri_solve.h"

#include <algorithm>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/ssm/tri_solve_args.h"

namespace mlxn {

Status tri_solve(ComputeEncoder& encoder, const TriSolveParams& params) {
  constexpr const char* kOp = "tri_solve";
  const auto& [matrix, right, output] = params;
  MLXN_TRY(check_present(kOp, "right", right));
  const Shape& shape = right.shape();
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, right.dtype()));
  if (shape.size() != 3) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": right has shape ", shape.to_string(), ", expected [batch, n, m]"));
  }
  const Shape square = {shape[0], shape[1], shape[1]};
  MLXN_TRY(check_argument(matrix, ExpectedShape{kOp, "matrix", right.dtype(), square}));
  MLXN_TRY(check_argument(output, ExpectedShape{kOp, "output", right.dtype(), shape}));
  MLXN_TRY(check_apart(kOp, output, matrix, "matrix"));
  MLXN_TRY(check_overlap(kOp, output, right, "right"));
  MLXN_ASSIGN(const uint32_t batch, fits_32_bits(kOp, "matrices", shape[0]));
  MLXN_ASSIGN(const uint32_t size, fits_32_bits(kOp, "rows", shape[1]));
  MLXN_ASSIGN(const uint32_t columns, fits_32_bits(kOp, "columns", shape[2]));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const TriSolveArgs args = {size, columns};
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, matrix}, {1, right}, {2, output}, {3, as_bytes(args)}},
                           .grid = {columns, batch, 1},
                           .threadgroup = {std::min(64u, pipeline.max_threads()), 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&matrix, &right},
                           .writes = {&output}});
}

}  // namespace mlxn
