#include "mlxn/ops/sample/argmax.h"

#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/sample/argmax_args.h"

namespace mlxn {

Status argmax(ComputeEncoder& encoder, KernelRegistry& registry, const Buffer& input,
              const Buffer& indices) {
  constexpr const char* kOp = "argmax";
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "input", input));
  MLXN_TRY(check_argument(input, {kOp, "input", Dtype::kF32, input.element_count()}));
  MLXN_TRY(check_argument(indices, {kOp, "indices", Dtype::kU32, rows.count}));
  MLXN_TRY(check_apart(kOp, indices, input, "input"));
  MLXN_ASSIGN(const Pipeline pipeline, registry.get_pipeline("argmax_f32", encoder.device()));
  const ArgmaxArgs args = {rows.dim};
  return dispatch_rows(encoder, rows,
                       {.pipeline = pipeline,
                        .bindings = {{0, input}, {1, indices}, {2, as_bytes(args)}},
                        .reads = {&input},
                        .writes = {&indices}});
}

}  // namespace mlxn
