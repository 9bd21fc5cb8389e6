#include "mlxn/ops/reduce/reduce.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/reduce/reduce_args.h"

namespace mlxn {

Status reduce(ComputeEncoder& encoder, const ReduceParams& params) {
  constexpr const char* kOp = "reduce";
  const auto& [input, output, kind] = params;
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, input.dtype()));
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "input", input));
  MLXN_TRY(check_argument(output, {kOp, "output", Dtype::kF32, rows.count}));
  MLXN_TRY(check_apart(kOp, output, input, "input"));
  if (kind >= ReduceKind::kCount) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": kind ", static_cast<uint32_t>(kind), ", expected less than ",
                     static_cast<uint32_t>(ReduceKind::kCount)));
  }
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const ReduceArgs args = {rows.dim, kind};
  return dispatch_rows(encoder, rows,
                       {.pipeline = pipeline,
                        .bindings = {{0, input}, {1, output}, {2, as_bytes(args)}},
                        .reads = {&input},
                        .writes = {&output}});
}

}  // namespace mlxn
