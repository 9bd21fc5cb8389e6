#include "mlxn/ops/backward/qdq.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/backward/qdq_args.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"

namespace mlxn {

Status qdq(ComputeEncoder& encoder, const QdqParams& params) {
  constexpr const char* kOp = "qdq";
  const auto& [input, output, format] = params;
  MLXN_TRY(check_present(kOp, "input", input));
  const uint64_t count = input.element_count();
  MLXN_TRY(check_argument(input, {kOp, "input", Dtype::kF32, count}));
  MLXN_TRY(check_argument(output, {kOp, "output", Dtype::kF32, count}));
  MLXN_TRY(check_overlap(kOp, output, input, "input"));
  if (count % 32 != 0) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": input has ", count, " elements, expected a multiple of 32"));
  }
  if (format != Dtype::kQ4_0 && format != Dtype::kQ8_0) {
    return Error(ErrorCode::kDtypeMismatch,
                 str(kOp, ": format ", to_string(format), ", expected q4_0 or q8_0"));
  }
  MLXN_ASSIGN(const uint32_t blocks, fits_32_bits(kOp, "blocks", count / 32));
  MLXN_ASSIGN(const Pipeline pipeline,
              builtin_pipeline(encoder.device(), str("qdq_", to_string(format))));
  const QdqArgs args = {blocks};
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, input}, {1, output}, {2, as_bytes(args)}},
                           .grid = {blocks, 1, 1},
                           .threadgroup = {32, 1, 1},
                           .kind = DispatchKind::kThreadgroups,
                           .declared = true,
                           .reads = {&input},
                           .writes = {&output}});
}

}  // namespace mlxn
