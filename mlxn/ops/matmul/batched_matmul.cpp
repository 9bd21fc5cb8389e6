#include "mlxn/ops/matmul/batched_matmul.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/common/float_type.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/matmul/slab_matmul.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "batched_matmul";

// What the shape of the weights says.
Result<SlabMatmulArgs> sizes_of_weights(const BatchedMatmulParams& params) {
  const Buffer& weights = params.weights;
  MLXN_TRY(check_present(kOp, "weights", weights));
  const Shape& shape = weights.shape();
  const uint32_t block = info(weights.dtype()).block_elements;
  if (shape.size() != 3 || shape[2] % block != 0) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": weights has shape ", shape.to_string(),
                     ", expected three dimensions, the last a multiple of ", block));
  }
  if (params.transposed && !info(weights.dtype()).is_float) {
    return Error(ErrorCode::kDtypeMismatch,
                 str(kOp, ": transposed weights of ", to_string(weights.dtype()),
                     ", expected f32, f16 or bf16"));
  }
  SlabMatmulArgs args = {};
  MLXN_ASSIGN(args.slabs, fits_32_bits(kOp, "slabs of weights", shape[0]));
  MLXN_ASSIGN(args.columns, fits_32_bits(kOp, "columns", shape[params.transposed ? 2 : 1]));
  MLXN_ASSIGN(args.depth, fits_32_bits(kOp, "elements in a sum", shape[params.transposed ? 1 : 2]));
  return args;
}

// [batch, heads, m, head_dim], with one head for three dimensions.
Status check_input(const BatchedMatmulParams& params, SlabMatmulArgs& args) {
  const Buffer& input = params.input;
  MLXN_TRY(check_present(kOp, "input", input));
  MLXN_ASSIGN(args.input_type, float_type(kOp, "input", input.dtype()));
  const Shape& shape = input.shape();
  const size_t dimensions = params.heads_first ? 4 : 3;
  const uint64_t heads = params.heads_first && shape.size() == 4 ? shape[1] : 1;
  const uint64_t width = shape.size() == dimensions ? shape[dimensions - 1] : 0;
  if (width == 0 || args.depth % heads != 0 || width != args.depth / heads ||
      (heads > 1 && width % 32 != 0)) {
    return Error(
        ErrorCode::kShapeMismatch,
        str(kOp, ": input has shape ", shape.to_string(), ", expected ",
            params.heads_first ? "[batch, heads, rows, k / heads] with heads of a multiple "
                                 "of 32 elements"
                               : "[batch, rows, k]",
            " for k = ", args.depth));
  }
  if (shape[0] % args.slabs != 0) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": input has shape ", shape.to_string(), ", expected a batch that is a ",
                     "multiple of the ", args.slabs, " slabs of weights"));
  }
  const uint64_t rows = shape[dimensions - 2];
  MLXN_ASSIGN(args.batch_rows, fits_32_bits(kOp, "rows", rows));
  MLXN_ASSIGN(const uint64_t all, checked_mul<uint64_t>(shape[0], rows));
  MLXN_ASSIGN(args.rows, fits_32_bits(kOp, "rows of the batch", all));
  args.head_dim = static_cast<uint32_t>(width);
  args.rows_of_slab = args.rows / args.slabs;
  args.share = 1;
  return {};
}

Status check_rest(const BatchedMatmulParams& params, SlabMatmulArgs& args) {
  const Buffer& output = params.output;
  MLXN_TRY(check_present(kOp, "output", output));
  MLXN_ASSIGN(args.output_type, float_type(kOp, "output", output.dtype()));
  MLXN_TRY(check_argument(output,
                          ExpectedShape{kOp,
                                        "output",
                                        output.dtype(),
                                        {params.input.shape()[0], args.batch_rows, args.columns}}));
  if (params.bias) {
    MLXN_TRY(check_present(kOp, "bias", *params.bias));
    MLXN_ASSIGN(args.bias_type, float_type(kOp, "bias", params.bias->dtype()));
    MLXN_TRY(check_argument(*params.bias,
                            ExpectedShape{kOp, "bias", params.bias->dtype(), {args.columns}}));
    args.has_bias = 1;
  }
  if (!std::isfinite(params.alpha)) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": alpha ", params.alpha, ", expected a finite number"));
  }
  args.alpha = params.alpha;
  return {};
}

}  // namespace

Status batched_matmul(ComputeEncoder& encoder, const BatchedMatmulParams& params) {
  MLXN_TRY(weight_kernel_name(kOp, params.weights ? params.weights.dtype() : Dtype::kF32));
  MLXN_ASSIGN(SlabMatmulArgs args, sizes_of_weights(params));
  MLXN_TRY(check_input(params, args));
  MLXN_TRY(check_rest(params, args));
  const SlabTensors tensors = {.input = params.input, .output = params.output, .bias = params.bias};
  MLXN_TRY(check_slab_memory(kOp, tensors, {&params.weights}));
  const bool across = params.transposed;
  return dispatch_slab_matmul(
      encoder, args, tensors,
      {.kernel = across ? "slab_matmul_across" : "slab_matmul",
       .format = to_string(params.weights.dtype()),
       .buffers = {&params.weights},
       .columns_of_group = across ? kSlabColumns * kSlabLanes : kSlabColumns});
}

}  // namespace mlxn
