#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/index/gather.h"
#include "mlxn/ops/index/indexed_rows_args.h"
#include "mlxn/ops/index/indices.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "set_rows";

Result<std::string> kernel_of(Dtype from, Dtype to) {
  const bool known = info(to).is_float || to == Dtype::kQ8_0;
  if (known && from == Dtype::kF32) return str(kOp, "_", to_string(to));
  if (info(to).is_float && from == to) return str(kOp, "_same_", to_string(to));
  return Error(ErrorCode::kDtypeMismatch,
               str(kOp, ": from ", to_string(from), " to ", to_string(to),
                   ", expected f32 or the same to f32, f16 or bf16, or f32 to q8_0"));
}

}  // namespace

Status set_rows(ComputeEncoder& encoder, const SetRowsParams& params) {
  const auto& [input, indices, output] = params;
  MLXN_TRY(check_present(kOp, "input", input));
  MLXN_ASSIGN(const Matrix rows, matrix_of(kOp, "output", output));
  MLXN_ASSIGN(const uint32_t count, check_indices(kOp, indices));
  MLXN_ASSIGN(const uint64_t elements, checked_mul<uint64_t>(count, rows.columns));
  MLXN_ASSIGN(const std::string kernel, kernel_of(input.dtype(), output.dtype()));
  MLXN_TRY(check_argument(input, {kOp, "input", input.dtype(), elements}));
  MLXN_TRY(check_apart(kOp, output, input, "input"));
  MLXN_TRY(check_apart(kOp, output, indices, "indices"));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const SetRowsArgs args = {rows.rows, rows.columns, count};
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, input}, {1, indices}, {2, output}, {3, as_bytes(args)}},
                           .grid = {count, 1, 1},
                           .threadgroup = {32, 1, 1},
                           .declared = true,
                           .reads = {&input, &indices},
                           .writes = {&output}});
}

}  // namespace mlxn
