#include "mlxn/ops/reduce/cumsum.h"

#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/reduce/reduce_args.h"

namespace mlxn {

Status cumsum(ComputeEncoder& encoder, const CumsumParams& params) {
  constexpr const char* kOp = "cumsum";
  const auto& [input, output, exclusive, reverse] = params;
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, input.dtype()));
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "input", input));
  MLXN_TRY(check_argument(output, {kOp, "output", input.dtype(), input.element_count()}));
  MLXN_TRY(check_overlap(kOp, output, input, "input"));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const CumsumArgs args = {rows.dim, exclusive, reverse};
  return dispatch_rows(encoder, rows,
                       {.pipeline = pipeline,
                        .bindings = {{0, input}, {1, output}, {2, as_bytes(args)}},
                        .reads = {&input},
                        .writes = {&output}});
}

}  // namespace mlxn
