#include "mlxn/ops/matmul/affine_matmul.h"

#include <algorithm>

#include "mlxn/base/strings.h"
#include "mlxn/ops/common/float_type.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/matmul/slab_matmul.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "affine_matmul";

Status check_format(const AffineMatmulParams& params) {
  constexpr uint32_t kBits[] = {2, 3, 4, 5, 6, 8};
  if (std::ranges::find(kBits, params.bits) == std::end(kBits) || params.group_size == 0 ||
      params.group_size % 32 != 0) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": ", params.bits, " bits in groups of ", params.group_size,
                     ", expected 2, 3, 4, 5, 6 or 8 in groups of a multiple of 32"));
  }
  if (!params.ids && (params.up || params.scratch)) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": ", params.up ? "up" : "scratch", " without ids, expected both"));
  }
  return {};
}

// All but the tensors of the rows: what the weights say, for sums over `depth` elements.
Result<SlabMatmulArgs> check_weights(const AffineMatmulParams& params, uint64_t depth) {
  SlabMatmulArgs args = {};
  args.group_size = params.group_size;
  args.alpha = 1;
  MLXN_ASSIGN(args.depth, fits_32_bits(kOp, "elements in a sum", depth));
  MLXN_TRY(check_present(kOp, "weights", params.weights));
  const Shape& shape = params.weights.shape();
  const size_t first = params.ids ? 1 : 0;  // dimension of the columns
  const uint64_t words = (depth * params.bits + 31) / 32;
  if (shape.size() != first + 2 || shape[first + 1] != words) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": weights has shape ", shape.to_string(), ", expected ",
                     params.ids ? "[experts, n, " : "[n, ", words, "] for rows of ", depth,
                     " elements of ", params.bits, " bits"));
  }
  MLXN_TRY(check_argument(params.weights, ExpectedShape{kOp, "weights", Dtype::kU32, shape}));
  const uint64_t groups = (depth - 1) / params.group_size + 1;
  const Shape per_group = params.ids ? Shape{shape[0], shape[1], groups} : Shape{shape[0], groups};
  MLXN_TRY(check_present(kOp, "scales", params.scales));
  const Dtype dtype = params.scales.dtype();
  MLXN_ASSIGN(args.scale_type, float_type(kOp, "scales", dtype));
  MLXN_TRY(check_argument(params.scales, ExpectedShape{kOp, "scales", dtype, per_group}));
  MLXN_TRY(check_argument(params.biases, ExpectedShape{kOp, "biases", dtype, per_group}));
  MLXN_ASSIGN(args.columns, fits_32_bits(kOp, "columns", shape[first]));
  MLXN_ASSIGN(args.slabs, fits_32_bits(kOp, "experts", params.ids ? shape[0] : 1));
  return args;
}

// Rows that all have the same weights.
Status check_rows(const AffineMatmulParams& params, SlabMatmulArgs& args) {
  const Shape& input = params.input.shape();
  MLXN_ASSIGN(args.input_type, float_type(kOp, "input", params.input.dtype()));
  MLXN_TRY(check_present(kOp, "output", params.output));
  MLXN_ASSIGN(args.output_type, float_type(kOp, "output", params.output.dtype()));
  MLXN_TRY(check_argument(
      params.output,
      ExpectedShape{kOp, "output", params.output.dtype(), {input[0], args.columns}}));
  MLXN_ASSIGN(args.rows, fits_32_bits(kOp, "rows", input[0]));
  args.rows_of_slab = args.batch_rows = args.rows;
  args.share = 1;
  args.head_dim = args.depth;
  return {};
}

}  // namespace

Status affine_matmul(ComputeEncoder& encoder, const AffineMatmulParams& params) {
  MLXN_TRY(check_format(params));
  MLXN_TRY(check_present(kOp, "input", params.input));
  const Shape& input = params.input.shape();
  if (input.size() != 2 && (!params.ids || input.size() != 3)) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": input has shape ", input.to_string(), ", expected [rows, k]"));
  }
  MLXN_ASSIGN(SlabMatmulArgs args, check_weights(params, input[input.size() - 1]));
  MLXN_TRY(
      params.ids
          ? check_routing(
                kOp, {params.input, *params.ids, params.output, params.up, params.scratch}, args)
          : check_rows(params, args));
  const SlabTensors tensors = {params.input, params.output, params.up, params.ids, params.scratch};
  const std::vector<const Buffer*> weights = {&params.weights, &params.scales, &params.biases};
  MLXN_TRY(check_slab_memory(kOp, tensors, weights));
  const std::string format = str(params.bits);
  return dispatch_slab_matmul(encoder, args, tensors,
                              {.kernel = kOp, .format = format, .buffers = weights});
}

}  // namespace mlxn
