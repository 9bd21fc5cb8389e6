#include "mlxn/ops/moe/moe_map.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/moe/moe_args.h"

namespace mlxn {

Status moe_map(ComputeEncoder& encoder, const MoeMapParams& params) {
  constexpr const char* kOp = "moe_map";
  const auto& [ids, offsets, rows] = params;
  MLXN_TRY(check_present(kOp, "ids", ids));
  MLXN_TRY(check_present(kOp, "offsets", offsets));
  const uint64_t count = ids.element_count(), bounds = offsets.element_count();
  MLXN_TRY(check_argument(ids, {kOp, "ids", Dtype::kU32, count}));
  MLXN_TRY(check_argument(offsets, {kOp, "offsets", Dtype::kU32, bounds}));
  MLXN_TRY(check_argument(rows, {kOp, "rows", Dtype::kU32, count}));
  MLXN_ASSIGN(const uint32_t narrow, fits_32_bits(kOp, "rows", count));
  MLXN_ASSIGN(const uint32_t groups, fits_32_bits(kOp, "offsets", bounds));
  MLXN_TRY(check_apart(kOp, offsets, ids, "ids"));
  MLXN_TRY(check_apart(kOp, rows, ids, "ids"));
  MLXN_TRY(check_apart(kOp, rows, offsets, "offsets"));
  if (groups < 2) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": offsets has ", groups, " elements, expected one more than experts"));
  }
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "moe_map_u32"));
  const MoeMapArgs args = {groups - 1, narrow};
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, ids}, {1, offsets}, {2, rows}, {3, as_bytes(args)}},
                           .grid = {groups, 1, 1},
                           .threadgroup = {32, 1, 1},
                           .declared = true,
                           .reads = {&ids},
                           .writes = {&offsets, &rows}});
}

}  // namespace mlxn
