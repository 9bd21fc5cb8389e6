#include "mlxn/ops/elementwise/add_row.h"

#include <algorithm>

#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/elementwise/add_row_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "add_row";

Result<Rows> check(const AddRowParams& params) {
  const auto& [input, row, output] = params;
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "input", input));
  MLXN_TRY(check_argument(row, {kOp, "row", input.dtype(), rows.dim}));
  MLXN_TRY(check_argument(output, {kOp, "output", input.dtype(), input.element_count()}));
  MLXN_TRY(check_overlap(kOp, output, input, "input"));
  MLXN_TRY(check_apart(kOp, output, row, "row"));
  return rows;
}

}  // namespace

Status add_row(ComputeEncoder& encoder, const AddRowParams& params) {
  const auto& [input, row, output] = params;
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, input.dtype()));
  MLXN_ASSIGN(const Rows rows, check(params));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const AddRowArgs args = {rows.count, rows.dim};
  return encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = {{0, input}, {1, row}, {2, output}, {3, as_bytes(args)}},
       .grid = {rows.dim, rows.count, 1},
       .threadgroup = {std::min({256u, rows.dim, pipeline.max_threads()}), 1, 1},
       .kind = DispatchKind::kThreads,
       .declared = true,
       .reads = {&input, &row},
       .writes = {&output}});
}

}  // namespace mlxn
