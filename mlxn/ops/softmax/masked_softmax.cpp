#include "mlxn/ops/softmax/masked_softmax.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/elements.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/softmax/masked_softmax_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "masked_softmax";

struct Plan {
  Rows rows;
  MaskedSoftmaxArgs args;
};

// What is per head or per query asks for a shape that tells them.
Result<Shape> shape_of(const MaskedSoftmaxParams& params) {
  const Shape& shape = params.input.shape();
  const bool has_heads = params.slopes || params.sinks;
  const size_t least = has_heads ? 3 : params.mask ? 2 : 0;
  if (shape.size() >= least) return shape;
  return Error(ErrorCode::kShapeMismatch, str(kOp, ": input has shape ", shape.to_string(),
                                              ", expected at least ", least, " dimensions"));
}

uint32_t mask_of(Dtype dtype) {
  return dtype == Dtype::kF32 ? kMaskF32 : dtype == Dtype::kF16 ? kMaskF16 : kMaskBf16;
}

Status check_mask(const Buffer& mask, uint64_t queries, uint64_t columns) {
  MLXN_TRY(check_present(kOp, "mask", mask));
  if (!info(mask.dtype()).is_float) {
    return Error(ErrorCode::kDtypeMismatch,
                 str(kOp, ": mask is ", to_string(mask.dtype()), ", expected f32, f16 or bf16"));
  }
  return check_argument(mask, ExpectedShape{kOp, "mask", mask.dtype(), {queries, columns}});
}

Result<Plan> check(const MaskedSoftmaxParams& params) {
  const Buffer& input = params.input;
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "input", input));
  MLXN_TRY(check_argument(params.output, {kOp, "output", input.dtype(), input.element_count()}));
  MLXN_ASSIGN(const Shape shape, shape_of(params));
  const size_t dims = shape.size();
  const uint64_t queries = dims >= 2 ? shape[dims - 2] : 1, heads = dims >= 3 ? shape[dims - 3] : 1;
  if (params.mask) MLXN_TRY(check_mask(*params.mask, queries, rows.dim));
  const NamedBuffer slopes = {"slopes", params.slopes}, sinks = {"sinks", params.sinks};
  MLXN_TRY(check_arguments(kOp, {slopes, sinks}, Dtype::kF32, heads));
  if (params.slopes && !params.mask) {
    return Error(ErrorCode::kInvalidArgument, str(kOp, ": slopes without a mask"));
  }
  if (!std::isfinite(params.scale)) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": scale is ", params.scale, ", expected a finite number"));
  }
  MLXN_TRY(check_overlap(kOp, params.output, input, "input"));
  MLXN_TRY(check_aparts(kOp, params.output, {{"mask", params.mask}, slopes, sinks}));
  return Plan{rows,
              {rows.dim, static_cast<uint32_t>(queries), static_cast<uint32_t>(heads),
               params.mask ? mask_of(params.mask->dtype()) : kMaskNone, params.slopes != nullptr,
               params.sinks != nullptr, params.scale}};
}

}  // namespace

Status masked_softmax(ComputeEncoder& encoder, const MaskedSoftmaxParams& params) {
  const Buffer &input = params.input, &output = params.output;
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, input.dtype()));
  MLXN_ASSIGN(const Plan plan, check(params));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const Buffer &mask = present_or(params.mask, input), &slopes = present_or(params.slopes, input),
               &sinks = present_or(params.sinks, input);
  return dispatch_rows(
      encoder, plan.rows,
      {.pipeline = pipeline,
       .bindings =
           {{0, input}, {1, mask}, {2, slopes}, {3, sinks}, {4, output}, {5, as_bytes(plan.args)}},
       .reads = {&input, &mask, &slopes, &sinks},
       .writes = {&output}});
}

}  // namespace mlxn
