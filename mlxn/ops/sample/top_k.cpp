#include "mlxn/ops/sample/top_k.h"

#include <algorithm>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/sample/argsort.h"
#include "mlxn/ops/sample/sorted_rows_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "top_k";

struct Sizes {
  Rows rows;
  uint32_t count;
};

Result<Sizes> check(const TopKParams& params) {
  const auto& [input, indices, values] = params;
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "input", input));
  MLXN_TRY(check_argument(input, {kOp, "input", Dtype::kF32, input.element_count()}));
  MLXN_TRY(check_present(kOp, "indices", indices));
  const uint64_t count = indices.element_count() / rows.count;
  MLXN_TRY(check_argument(indices, {kOp, "indices", Dtype::kU32, count * rows.count}));
  MLXN_TRY(check_argument(values, {kOp, "values", Dtype::kF32, count * rows.count}));
  MLXN_TRY(check_apart(kOp, indices, input, "input"));
  MLXN_TRY(check_apart(kOp, values, input, "input"));
  MLXN_TRY(check_apart(kOp, values, indices, "indices"));
  if (count >= 1 && count <= rows.dim) return Sizes{rows, static_cast<uint32_t>(count)};
  return Error(ErrorCode::kOutOfRange,
               str(kOp, ": ", count, " of rows of ", rows.dim, ", expected from 1 to that many"));
}

// More than a threadgroup holds are taken from the whole order.
Status sort_all(ComputeEncoder& encoder, const TopKParams& params, const Sizes& sizes) {
  const auto& [input, indices, values] = params;
  const Device& device = encoder.device();
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(device, "top_k_sorted_f32"));
  MLXN_ASSIGN(const Buffer sorted,
              device.alloc_uninit(Dtype::kU32, {sizes.rows.count, sizes.rows.dim}));
  MLXN_TRY(argsort(encoder, {.input = input, .indices = sorted, .descending = true}));
  MLXN_TRY(encoder.memory_barrier());
  const TopKArgs args = {sizes.rows.dim, sizes.count};
  return encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = {{0, input}, {1, sorted}, {2, indices}, {3, values}, {4, as_bytes(args)}},
       .grid = {sizes.count, sizes.rows.count, 1},
       .threadgroup = {std::min(256u, pipeline.max_threads()), 1, 1},
       .kind = DispatchKind::kThreads,
       .declared = true,
       .reads = {&input, &sorted},
       .writes = {&indices, &values},
       .label = kOp});
}

}  // namespace

Status top_k(ComputeEncoder& encoder, const TopKParams& params) {
  MLXN_ASSIGN(const Sizes sizes, check(params));
  if (sizes.count > kSortBlock) return sort_all(encoder, params, sizes);
  const auto& [input, indices, values] = params;
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "top_k_f32"));
  const TopKArgs args = {sizes.rows.dim, sizes.count};
  const bool processor = encoder.device().limits().is_processor;
  return encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = {{0, input}, {1, indices}, {2, values}, {3, as_bytes(args)}},
       .grid = {sizes.rows.count, 1, 1},
       .threadgroup = {processor ? 32u : std::min(128u, pipeline.max_threads()), 1, 1},
       .declared = true,
       .reads = {&input},
       .writes = {&indices, &values}});
}

}  // namespace mlxn
