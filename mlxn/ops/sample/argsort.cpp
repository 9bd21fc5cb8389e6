#include "mlxn/ops/sample/argsort.h"

#include <algorithm>

#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/rows.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/sample/sorted_rows_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "argsort";

Result<Rows> check(const ArgsortParams& params) {
  const auto& [input, indices, descending, scratch] = params;
  MLXN_ASSIGN(const Rows rows, rows_of(kOp, "input", input));
  const uint64_t count = input.element_count();
  MLXN_TRY(check_argument(input, {kOp, "input", Dtype::kF32, count}));
  MLXN_TRY(check_argument(indices, {kOp, "indices", Dtype::kU32, count}));
  MLXN_TRY(check_apart(kOp, indices, input, "input"));
  if (scratch) {
    MLXN_TRY(check_argument(*scratch, {kOp, "scratch", Dtype::kU32, count}));
    MLXN_TRY(check_apart(kOp, *scratch, input, "input"));
    MLXN_TRY(check_apart(kOp, *scratch, indices, "indices"));
  }
  return rows;
}

Status sort_blocks(ComputeEncoder& encoder, const Pipeline& pipeline, const Rows& rows,
                   const SortArgs& args, const Buffer& input, const Buffer& to) {
  const bool processor = encoder.device().limits().is_processor;
  return encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = {{0, input}, {1, to}, {2, as_bytes(args)}},
       .grid = {(rows.dim - 1) / kSortBlock + 1, rows.count, 1},
       .threadgroup = {processor ? 32u : std::min(256u, pipeline.max_threads()), 1, 1},
       .declared = true,
       .reads = {&input},
       .writes = {&to},
       .label = kOp});
}

Status merge(ComputeEncoder& encoder, const Pipeline& pipeline, const Rows& rows,
             const SortArgs& args, const Buffer& input, const Buffer& from, const Buffer& to) {
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, input}, {1, from}, {2, to}, {3, as_bytes(args)}},
                           .grid = {rows.dim, rows.count, 1},
                           .threadgroup = {std::min(256u, pipeline.max_threads()), 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&input, &from},
                           .writes = {&to},
                           .label = kOp});
}

}  // namespace

Status argsort(ComputeEncoder& encoder, const ArgsortParams& params) {
  MLXN_ASSIGN(const Rows rows, check(params));
  const Device& device = encoder.device();
  MLXN_ASSIGN(const Pipeline blocks, builtin_pipeline(device, "argsort_blocks_f32"));
  MLXN_ASSIGN(const Pipeline merges, builtin_pipeline(device, "argsort_merge_f32"));
  SortArgs args = {rows.dim, params.descending ? 1u : 0u, kSortBlock};
  uint32_t passes = 0;
  for (uint64_t run = kSortBlock; run < rows.dim; run *= 2) ++passes;
  Buffer made;
  if (passes > 0 && !params.scratch) {
    MLXN_ASSIGN(made, device.alloc_uninit(Dtype::kU32, {rows.count, rows.dim}));
  }
  // Runs go to and fro so that the last pass ends in the indices.
  const Buffer* sides[] = {&params.indices, params.scratch ? params.scratch : &made};
  MLXN_TRY(sort_blocks(encoder, blocks, rows, args, params.input, *sides[passes % 2]));
  for (; passes > 0; --passes, args.run *= 2) {
    MLXN_TRY(encoder.memory_barrier());
    const Buffer &from = *sides[passes % 2], &to = *sides[(passes - 1) % 2];
    MLXN_TRY(merge(encoder, merges, rows, args, params.input, from, to));
  }
  return {};
}

}  // namespace mlxn
