#include "mlxn/ops/matmul/matmul_silu_mul.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/matmul/product.h"

namespace mlxn {

Status matmul_silu_mul(ComputeEncoder& encoder, const MatmulSiluMulParams& params) {
  constexpr const char* kOp = "matmul_silu_mul";
  const auto& [gate, up, input, output] = params;
  MLXN_ASSIGN(const MatmulArgs args, check_product(kOp, {gate, input, output}));
  MLXN_TRY(check_argument(up, ExpectedShape{kOp, "up", gate.dtype(), gate.shape()}));
  MLXN_TRY(check_apart(kOp, output, up, "up"));
  MLXN_ASSIGN(const std::string kernel, product_kernel_name(kOp, args.rows, gate.dtype()));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  return dispatch_product(
      encoder, args,
      {.pipeline = pipeline,
       .bindings = {{0, gate}, {1, up}, {2, input}, {3, output}, {4, as_bytes(args)}},
       .reads = {&gate, &up, &input},
       .writes = {&output}});
}

}  // namespace mlxn
