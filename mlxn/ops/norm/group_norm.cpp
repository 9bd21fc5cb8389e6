#include "mlxn/ops/norm/group_norm.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/elements.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/norm/group_norm_args.h"
#include "mlxn/ops/norm/norm_check.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "group_norm";

struct Plan {
  Rows rows;
  GroupNormArgs args;
};

Status check_vectors(const GroupNormParams& params, uint64_t channels) {
  const NamedBuffer weight = {"weight", params.weight}, bias = {"bias", params.bias};
  const Dtype dtype = weight_dtype_of(params.input.dtype());
  MLXN_TRY(check_arguments(kOp, {weight, bias}, dtype, channels));
  return check_aparts(kOp, params.output, {weight, bias});
}

Result<Plan> check(const GroupNormParams& params) {
  const Buffer& input = params.input;
  MLXN_TRY(check_present(kOp, "input", input));
  const Shape& shape = input.shape();
  if (shape.size() < 2 || params.groups == 0 || shape[1] % params.groups != 0) {
    return Error(
        ErrorCode::kShapeMismatch,
        str(kOp, ": input has shape ", shape.to_string(),
            ", expected [batch, channels, ...] with channels in ", params.groups, " groups"));
  }
  const uint64_t dim = input.element_count() / shape[0] / params.groups;
  MLXN_TRY(check_norm_dim(kOp, dim));
  MLXN_ASSIGN(const uint64_t count, checked_mul<uint64_t>(shape[0], params.groups));
  MLXN_ASSIGN(const uint32_t rows, fits_32_bits(kOp, "groups", count));
  MLXN_TRY(check_number(params.eps, {kOp, "eps", 0}));
  MLXN_TRY(check_argument(params.output, {kOp, "output", input.dtype(), input.element_count()}));
  MLXN_TRY(check_overlap(kOp, params.output, input, "input"));
  MLXN_TRY(check_vectors(params, shape[1]));
  const uint32_t channels = static_cast<uint32_t>(shape[1] / params.groups);
  const uint32_t places = static_cast<uint32_t>(dim / channels);
  return Plan{{rows, static_cast<uint32_t>(dim)},
              {params.groups, channels, places, params.eps, params.weight != nullptr,
               params.bias != nullptr}};
}

}  // namespace

Status group_norm(ComputeEncoder& encoder, const GroupNormParams& params) {
  const Buffer& input = params.input;
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, input.dtype()));
  MLXN_ASSIGN(const Plan plan, check(params));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const Buffer &weight = present_or(params.weight, input), &bias = present_or(params.bias, input);
  return dispatch_rows(
      encoder, plan.rows,
      {.pipeline = pipeline,
       .bindings =
           {{0, input}, {1, weight}, {2, bias}, {3, params.output}, {4, as_bytes(plan.args)}},
       .reads = {&input, &weight, &bias},
       .writes = {&params.output}});
}

}  // namespace mlxn
