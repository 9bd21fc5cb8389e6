#include "mlxn/ops/elementwise/unary.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/elements.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/elementwise/unary_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "unary";

Error wrong(const UnaryParams& params, const char* expected) {
  return Error(ErrorCode::kInvalidArgument,
               str(kOp, ": a is ", params.a, " and b ", params.b, ", expected ", expected));
}

Status check_numbers(const UnaryParams& params) {
  const float a = params.a, b = params.b;
  if (params.kind >= UnaryKind::kCount) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": kind ", static_cast<uint32_t>(params.kind), ", expected less than ",
                     static_cast<uint32_t>(UnaryKind::kCount)));
  }
  if (params.kind == UnaryKind::kClamp) {
    if (!(a <= b)) return wrong(params, "numbers in order");
    return {};
  }
  if (!std::isfinite(a) || !std::isfinite(b)) return wrong(params, "finite numbers");
  if (params.kind == UnaryKind::kSoftcap && !(a > 0)) return wrong(params, "a positive cap");
  return {};
}

Result<uint32_t> check(const UnaryParams& params) {
  const Buffer& input = params.input;
  MLXN_TRY(check_present(kOp, "input", input));
  MLXN_TRY(check_argument(params.output, {kOp, "output", input.dtype(), input.element_count()}));
  MLXN_TRY(check_overlap(kOp, params.output, input, "input"));
  MLXN_TRY(check_numbers(params));
  return fits_32_bits(kOp, "elements", input.element_count());
}

}  // namespace

Status unary(ComputeEncoder& encoder, const UnaryParams& params) {
  const auto& [input, output, kind, a, b] = params;
  MLXN_TRY(float_kernel_name(kOp, input.dtype()));
  MLXN_ASSIGN(const uint32_t count, check(params));
  const bool wave = kind == UnaryKind::kSin || kind == UnaryKind::kCos;
  MLXN_ASSIGN(const std::string kernel,
              float_kernel_name(wave ? "unary_wave" : "unary", input.dtype()));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const uint32_t run = run_of(encoder, count);
  const UnaryArgs args = {count, run, kind, a, b};
  return dispatch_runs(encoder, {count, run},
                       {.pipeline = pipeline,
                        .bindings = {{0, input}, {1, output}, {2, as_bytes(args)}},
                        .reads = {&input},
                        .writes = {&output}});
}

}  // namespace mlxn
