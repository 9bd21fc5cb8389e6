#include "mlxn/ops/matmul/matmul_id.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/common/float_type.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/matmul/slab_matmul.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "matmul_id";

Result<SlabMatmulArgs> sizes_of_weights(const Buffer& weights) {
  MLXN_TRY(check_present(kOp, "weights", weights));
  MLXN_TRY(weight_kernel_name(kOp, weights.dtype()));
  const Shape& shape = weights.shape();
  const uint32_t block = info(weights.dtype()).block_elements;
  if (shape.size() != 3 || shape[2] % block != 0) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": weights has shape ", shape.to_string(),
                     ", expected [experts, n, k] with k a multiple of ", block));
  }
  SlabMatmulArgs args = {};
  MLXN_ASSIGN(args.slabs, fits_32_bits(kOp, "experts", shape[0]));
  MLXN_ASSIGN(args.columns, fits_32_bits(kOp, "columns", shape[1]));
  MLXN_ASSIGN(args.depth, fits_32_bits(kOp, "elements in a sum", shape[2]));
  args.alpha = 1;
  return args;
}

}  // namespace

Status matmul_id(ComputeEncoder& encoder, const MatmulIdParams& params) {
  MLXN_ASSIGN(SlabMatmulArgs args, sizes_of_weights(params.weights));
  MLXN_TRY(check_routing(kOp, {params.input, params.ids, params.output, params.up, params.scratch},
                         args));
  if (params.bias) {
    MLXN_TRY(check_present(kOp, "bias", *params.bias));
    MLXN_ASSIGN(args.bias_type, float_type(kOp, "bias", params.bias->dtype()));
    MLXN_TRY(check_argument(
        *params.bias,
        ExpectedShape{kOp, "bias", params.bias->dtype(), {args.slabs, args.columns}}));
    args.has_bias = 1;
    args.bias_stride = args.columns;
  }
  const SlabTensors tensors = {params.input, params.output,  params.up,
                               &params.ids,  params.scratch, params.bias};
  MLXN_TRY(check_slab_memory(kOp, tensors, {&params.weights}));
  return dispatch_slab_matmul(encoder, args, tensors,
                              {.kernel = "slab_matmul",
                               .format = to_string(params.weights.dtype()),
                               .buffers = {&params.weights}});
}

}  // namespace mlxn
