#include "mlxn/ops/index/embedding.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/index/embedding_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "embedding";

struct Sizes {
  uint64_t rows;
  uint32_t dim, tokens;
};

Result<Sizes> check(const EmbeddingParams& params) {
  MLXN_ASSIGN(const Matrix table, matrix_of(kOp, "table", params.table));
  MLXN_TRY(check_present(kOp, "ids", params.ids));
  const uint64_t tokens = params.ids.element_count();
  MLXN_TRY(check_argument(params.ids, {kOp, "ids", Dtype::kU32, tokens}));
  MLXN_ASSIGN(const uint32_t narrow, fits_32_bits(kOp, "tokens", tokens));
  MLXN_ASSIGN(const uint64_t elements, checked_mul<uint64_t>(tokens, table.columns));
  MLXN_TRY(check_argument(params.output, {kOp, "output", Dtype::kF32, elements}));
  MLXN_TRY(check_apart(kOp, params.output, params.table, "table"));
  MLXN_TRY(check_apart(kOp, params.output, params.ids, "ids"));
  if (!std::isfinite(params.scale)) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": scale ", params.scale, ", expected a finite number"));
  }
  return Sizes{table.rows, table.columns, narrow};
}

}  // namespace

Status embedding(ComputeEncoder& encoder, const EmbeddingParams& params) {
  MLXN_ASSIGN(const std::string kernel, weight_kernel_name(kOp, params.table.dtype()));
  MLXN_ASSIGN(const Sizes sizes, check(params));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const EmbeddingArgs args = {sizes.rows, sizes.dim, params.scale, 0};
  // A processor pays for each threadgroup: it gets several tokens in one.
  const uint32_t most = encoder.device().limits().is_processor ? 16 : 1;
  const uint32_t height = std::min({most, sizes.tokens, pipeline.max_threads() / 64});
  return encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = {{0, params.table}, {1, params.ids}, {2, params.output}, {3, as_bytes(args)}},
       .grid = {sizes.dim, sizes.tokens, 1},
       .threadgroup = {64, height, 1},
       .kind = DispatchKind::kThreads,
       .declared = true,
       .reads = {&params.table, &params.ids},
       .writes = {&params.output}});
}

Status check_ids(std::span<const uint32_t> ids, uint64_t rows) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= rows) {
      return Error(ErrorCode::kOutOfRange,
                   str("id ", ids[i], " at ", i, ", expected less than ", rows));
    }
  }
  return {};
}

}  // namespace mlxn
