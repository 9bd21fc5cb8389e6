#include "mlxn/ops/turboquant/hadamard.h"

#include <algorithm>
#include <bit>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/turboquant/hadamard_args.h"
#include "mlxn/ops/turboquant/signs.h"

namespace mlxn {

Status hadamard(ComputeEncoder& encoder, const HadamardParams& params) {
  constexpr const char* kOp = "hadamard";
  const auto& [input, output, signs] = params;
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "input", input));
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, input.dtype()));
  MLXN_TRY(check_argument(output, ExpectedShape{kOp, "output", input.dtype(), input.shape()}));
  MLXN_TRY(check_overlap(kOp, output, input, "input"));
  const uint32_t most = signs == HadamardSigns::kNone ? kMostHadamard : kMostSigns;
  if (!std::has_single_bit(rows.dim) || rows.dim > most) {
    return Error(ErrorCode::kShapeMismatch, str(kOp, ": rows of ", rows.dim,
                                                " elements, expected a power of two up to ", most));
  }
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  // A processor runs the simdgroups of a threadgroup one after the other: one is enough.
  const uint32_t wanted = encoder.device().limits().is_processor ? 32 : 256;
  const HadamardArgs args = {rows.dim, signs == HadamardSigns::kBefore ? 1u : 0u,
                             signs == HadamardSigns::kAfter ? 1u : 0u};
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, input}, {1, output}, {2, as_bytes(args)}},
                           .grid = {rows.count, 1, 1},
                           .threadgroup = {std::clamp(rows.dim / 2, 32u, wanted), 1, 1},
                           .kind = DispatchKind::kThreadgroups,
                           .threadgroup_memory = {{0, std::max(rows.dim, 32u) * sizeof(float)}},
                           .declared = true,
                           .reads = {&input},
                           .writes = {&output}});
}

}  // namespace mlxn
