#include "mlxn/ops/activation/glu.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/activation/glu_args.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/elements.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "glu";

Status check_numbers(const GluParams& params) {
  if (params.kind >= GluKind::kCount) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": kind ", static_cast<uint32_t>(params.kind), ", expected less than ",
                     static_cast<uint32_t>(GluKind::kCount)));
  }
  if (params.up != nullptr && params.gate_second) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": gate_second with up, expected a row of both"));
  }
  if (!std::isfinite(params.alpha)) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": alpha is ", params.alpha, ", expected a finite number"));
  }
  return check_number(params.limit, {kOp, "limit", 0});
}

struct Plan {
  Rows rows;  // of the output
  GluArgs args;
};

// Rows are of no matter to two tensors: one long one, where its length fits.
Result<Plan> plan_of_two(const GluParams& params, const GluArgs& args) {
  const Buffer& gate = params.gate;
  MLXN_TRY(check_present(kOp, "gate", gate));
  MLXN_TRY(check_arguments(kOp, {{"up", params.up}, {"output", &params.output}}, gate.dtype(),
                           gate.element_count()));
  MLXN_TRY(check_overlaps(kOp, params.output, {{"gate", &gate}, {"up", params.up}}));
  MLXN_ASSIGN(const uint32_t count, fits_32_bits(kOp, "elements", gate.element_count()));
  Plan out = {{1, count}, args};
  out.args.dim = out.args.stride = count;
  return out;
}

Result<Plan> plan_of_both(const GluParams& params, const GluArgs& args) {
  const Buffer& both = params.gate;
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "gate", both));
  if (rows.dim % 2 != 0) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": gate has shape ", both.shape().to_string(),
                     ", expected rows of gate and up, of an even length"));
  }
  MLXN_TRY(check_argument(params.output, {kOp, "output", both.dtype(), both.element_count() / 2}));
  MLXN_TRY(check_apart(kOp, params.output, both, "gate"));
  const uint32_t dim = rows.dim / 2;
  Plan out = {{rows.count, dim}, args};
  out.args.dim = dim;
  out.args.stride = rows.dim;
  (params.gate_second ? out.args.gate : out.args.up) = dim;
  return out;
}

}  // namespace

Status glu(ComputeEncoder& encoder, const GluParams& params) {
  const Buffer& up = present_or(params.up, params.gate);
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, params.gate.dtype()));
  MLXN_TRY(check_numbers(params));
  const uint32_t run = run_of(encoder, params.gate.element_count());
  const GluArgs chosen = {0, run, params.kind, params.alpha, params.limit, 0, 0, 0};
  MLXN_ASSIGN(const Plan plan,
              params.up ? plan_of_two(params, chosen) : plan_of_both(params, chosen));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  return dispatch_runs(
      encoder, {plan.rows.dim, run, plan.rows.count},
      {.pipeline = pipeline,
       .bindings = {{0, params.gate}, {1, up}, {2, params.output}, {3, as_bytes(plan.args)}},
       .reads = {&params.gate, &up},
       .writes = {&params.output}});
}

}  // namespace mlxn
