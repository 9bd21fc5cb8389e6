#include "mlxn/ops/backward/gradients.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/backward/gradient_args.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/elements.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"

namespace mlxn {
namespace {

constexpr Dtype kF32 = Dtype::kF32;

// Three tensors of one size, the last of which may be one of the others.
Status check_three(const char* op, const NamedBuffer& a, const NamedBuffer& b,
                   const Buffer& output) {
  MLXN_TRY(check_present(op, a.name, *a.buffer));
  MLXN_TRY(check_arguments(op, {a, b, {"output", &output}}, kF32, a.buffer->element_count()));
  return check_overlaps(op, output, {a, b});
}

}  // namespace

Status unary_backward(ComputeEncoder& encoder, const UnaryBackwardParams& params) {
  constexpr const char* kOp = "unary_backward";
  const auto& [input, gradient, output, kind] = params;
  MLXN_TRY(check_three(kOp, {"input", &input}, {"gradient", &gradient}, output));
  if (kind != UnaryKind::kSilu && kind != UnaryKind::kLog) {
    return Error(ErrorCode::kInvalidArgument, str(kOp, ": kind ", static_cast<uint32_t>(kind),
                                                  ", expected that of silu or log"));
  }
  MLXN_ASSIGN(const uint32_t count, fits_32_bits(kOp, "elements", input.element_count()));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "unary_backward_f32"));
  const UnaryBackwardArgs args = {count, kind == UnaryKind::kSilu ? kOfSilu : kOfLog};
  return dispatch_elements(
      encoder, count,
      {.pipeline = pipeline,
       .bindings = {{0, input}, {1, gradient}, {2, output}, {3, as_bytes(args)}},
       .reads = {&input, &gradient},
       .writes = {&output}});
}

Status softmax_backward(ComputeEncoder& encoder, const SoftmaxBackwardParams& params) {
  constexpr const char* kOp = "softmax_backward";
  const auto& [result, gradient, output] = params;
  MLXN_TRY(check_three(kOp, {"result", &result}, {"gradient", &gradient}, output));
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "result", result));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "softmax_backward_f32"));
  const RowBackwardArgs args = {rows.dim, 1};
  return dispatch_rows(encoder, rows,
                       {.pipeline = pipeline,
                        .bindings = {{0, result}, {1, gradient}, {2, output}, {3, as_bytes(args)}},
                        .reads = {&result, &gradient},
                        .writes = {&output}});
}

Status row_sum_backward(ComputeEncoder& encoder, const RowSumBackwardParams& params) {
  constexpr const char* kOp = "row_sum_backward";
  const auto& [gradient, output, scale] = params;
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "output", output));
  MLXN_TRY(check_argument(output, {kOp, "output", kF32, output.element_count()}));
  MLXN_TRY(check_argument(gradient, {kOp, "gradient", kF32, rows.count}));
  MLXN_TRY(check_apart(kOp, output, gradient, "gradient"));
  if (!std::isfinite(scale)) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": scale is ", scale, ", expected a finite number"));
  }
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "row_sum_backward_f32"));
  const RowBackwardArgs args = {rows.dim, scale};
  return encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = {{0, gradient}, {1, output}, {2, as_bytes(args)}},
       .grid = {rows.dim, rows.count, 1},
       .threadgroup = {std::min({256u, rows.dim, pipeline.max_threads()}), 1, 1},
       .kind = DispatchKind::kThreads,
       .declared = true,
       .reads = {&gradient},
       .writes = {&output}});
}

}  // namespace mlxn
