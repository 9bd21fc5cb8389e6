#include "mlxn/ops/index/gather.h"

#include <algorithm>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/index/embedding_args.h"
#include "mlxn/ops/index/indexed_rows_args.h"
#include "mlxn/ops/index/indices.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "gather";

// Rows of one dtype are copied; other formats go through the kernels of embedding.
Result<std::string> kernel_of(const GatherParams& params) {
  const DtypeInfo& from = info(params.source.dtype());
  if (from.dtype == params.output.dtype() && from.block_elements == 1 && from.block_bytes <= 4) {
    return str(kOp, "_u", 8 * from.block_bytes);
  }
  if (params.output.dtype() == Dtype::kF32) return weight_kernel_name("embedding", from.dtype);
  return Error(ErrorCode::kDtypeMismatch,
               str(kOp, ": from ", from.name, " to ", to_string(params.output.dtype()),
                   ", expected the same of 1, 2 or 4 bytes, or f32 from a weight format"));
}

}  // namespace

Result<uint32_t> check_indices(std::string_view op, const Buffer& indices) {
  MLXN_TRY(check_present(op, "indices", indices));
  const Dtype dtype = indices.dtype() == Dtype::kI32 ? Dtype::kI32 : Dtype::kU32;
  const uint64_t count = indices.element_count();
  MLXN_TRY(check_argument(indices, {op, "indices", dtype, count}));
  return fits_32_bits(op, "indices", count);
}

Status gather(ComputeEncoder& encoder, const GatherParams& params) {
  const auto& [source, indices, output, out_of_range] = params;
  MLXN_ASSIGN(const Matrix rows, matrix_of(kOp, "source", source));
  MLXN_ASSIGN(const uint32_t count, check_indices(kOp, indices));
  MLXN_TRY(check_present(kOp, "output", output));
  MLXN_ASSIGN(const uint64_t elements, checked_mul<uint64_t>(count, rows.columns));
  MLXN_TRY(check_argument(output, {kOp, "output", output.dtype(), elements}));
  MLXN_TRY(check_apart(kOp, output, source, "source"));
  MLXN_TRY(check_apart(kOp, output, indices, "indices"));
  const auto kernel = kernel_of(params);
  if (!kernel) return Error(kernel.error().code(), str(kOp, ": ", kernel.error().message()));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), *kernel));
  const uint32_t clamp = out_of_range == OutOfRange::kLastRow ? 1 : 0;
  const GatherArgs copied = {rows.rows, rows.columns, clamp};
  const EmbeddingArgs widened = {rows.rows, rows.columns, 1.0f, clamp};
  const bool same = source.dtype() == output.dtype();
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, source},
                                        {1, indices},
                                        {2, output},
                                        {3, same ? as_bytes(copied) : as_bytes(widened)}},
                           .grid = {rows.columns, count, 1},
                           .threadgroup = {std::min(256u, pipeline.max_threads()), 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&source, &indices},
                           .writes = {&output},
                           .label = kOp});
}

}  // namespace mlxn
