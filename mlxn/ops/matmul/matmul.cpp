#include "mlxn/ops/matmul/matmul.h"

#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/matmul/product.h"
#include "mlxn/ops/op_kind.h"

namespace mlxn {

Status matmul(ComputeEncoder& encoder, const MatmulParams& params) {
  constexpr const char* kOp = "matmul";
  const auto& [weights, input, output] = params;
  MLXN_ASSIGN(const MatmulArgs args, check_product(kOp, params));
  MLXN_ASSIGN(const std::string kernel, product_kernel_name(kOp, args.rows, weights.dtype()));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  return dispatch_product(encoder, args,
                          {.pipeline = pipeline,
                           .bindings = {{0, weights}, {1, input}, {2, output}, {3, as_bytes(args)}},
                           .reads = {&weights, &input},
                           .writes = {&output},
                           .op = OpKind::kMatmul});
}

}  // namespace mlxn
