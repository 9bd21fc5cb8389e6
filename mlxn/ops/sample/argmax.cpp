#include "mlxn/ops/sample/argmax.h"

#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/sample/argmax_args.h"

namespace mlxn {

Status argmax(ComputeEncoder& encoder, const ArgmaxParams& params) {
  constexpr const char* kOp = "argmax";
  const auto& [input, indices, values] = params;
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "input", input));
  MLXN_TRY(check_argument(input, {kOp, "input", Dtype::kF32, input.element_count()}));
  MLXN_TRY(check_argument(indices, {kOp, "indices", Dtype::kU32, rows.count}));
  MLXN_TRY(check_apart(kOp, indices, input, "input"));
  if (values) {
    MLXN_TRY(check_argument(*values, {kOp, "values", Dtype::kF32, rows.count}));
    MLXN_TRY(check_apart(kOp, *values, input, "input"));
    MLXN_TRY(check_apart(kOp, *values, indices, "indices"));
  }
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "argmax_f32"));
  const ArgmaxArgs args = {rows.dim, values ? 1u : 0u};
  const Buffer& bound = values ? *values : indices;
  return dispatch_rows(encoder, rows,
                       {.pipeline = pipeline,
                        .bindings = {{0, input}, {1, indices}, {2, as_bytes(args)}, {3, bound}},
                        .reads = {&input},
                        .writes = {&indices, &bound}});
}

}  // namespace mlxn
