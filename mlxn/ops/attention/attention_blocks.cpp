#include "mlxn/ops/attention/attention_blocks.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/attention/attention_blocks_args.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/float_type.h"
#include "mlxn/ops/common/validate.h"

namespace mlxn {

Status attention_blocks(ComputeEncoder& encoder, const AttentionBlocksParams& params) {
  constexpr const char* kOp = "attention_blocks";
  const auto& [mask, blocks] = params;
  MLXN_TRY(check_present(kOp, "mask", mask));
  if (mask.dtype() != Dtype::kBool) MLXN_TRY(float_type(kOp, "mask", mask.dtype()));
  MLXN_ASSIGN(const Matrix sizes, matrix_of(kOp, "mask", mask));
  MLXN_ASSIGN(const uint32_t rows, fits_32_bits(kOp, "queries", sizes.rows));
  const uint32_t block_rows = (rows - 1) / kMaskBlock + 1,
                 block_columns = (sizes.columns - 1) / kMaskBlock + 1;
  MLXN_TRY(check_argument(blocks,
                          ExpectedShape{kOp, "blocks", Dtype::kU8, {block_rows, block_columns}}));
  MLXN_TRY(check_apart(kOp, blocks, mask, "mask"));
  MLXN_ASSIGN(const Pipeline pipeline,
              builtin_pipeline(encoder.device(), str(kOp, "_", to_string(mask.dtype()))));
  const AttentionBlocksArgs args = {rows, sizes.columns, block_columns};
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, mask}, {1, blocks}, {2, as_bytes(args)}},
                           .grid = {block_columns, block_rows, 1},
                           .threadgroup = {kMaskBlock, 1, 1},
                           .kind = DispatchKind::kThreadgroups,
                           .declared = true,
                           .reads = {&mask},
                           .writes = {&blocks}});
}

}  // namespace mlxn
