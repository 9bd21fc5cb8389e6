#include "mlxn/ops/attention/attention_mask.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/attention/attention_mask_args.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/float_type.h"
#include "mlxn/ops/common/validate.h"

namespace mlxn {

Status attention_mask(ComputeEncoder& encoder, const AttentionMaskParams& params) {
  constexpr const char* kOp = "attention_mask";
  const Buffer& mask = params.mask;
  MLXN_TRY(check_present(kOp, "mask", mask));
  if (mask.dtype() != Dtype::kBool) MLXN_TRY(float_type(kOp, "mask", mask.dtype()));
  MLXN_ASSIGN(const Matrix sizes, matrix_of(kOp, "mask", mask));
  MLXN_TRY(fits_32_bits(kOp, "queries", sizes.rows));
  MLXN_TRY(checked_add<uint64_t>(params.offset, sizes.rows));
  MLXN_ASSIGN(const Pipeline pipeline,
              builtin_pipeline(encoder.device(), str(kOp, "_", to_string(mask.dtype()))));
  const AttentionMaskArgs args = {params.offset, params.window, sizes.columns,
                                  params.causal ? 1u : 0u};
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, mask}, {1, as_bytes(args)}},
                           .grid = {sizes.columns, sizes.rows, 1},
                           .threadgroup = {256, 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .writes = {&mask}});
}

}  // namespace mlxn
