#include "mlxn/ops/common/rows.h"

#include <algorithm>
#include <bit>

#include "mlxn/base/strings.h"
#include "mlxn/ops/common/validate.h"

namespace mlxn {

Result<Rows> rows_of(std::string_view op, std::string_view name, const Buffer& buffer) {
  MLXN_TRY(check_present(op, name, buffer));
  const Shape& shape = buffer.shape();
  const uint64_t dim = shape.size() == 0 ? 1 : shape[shape.size() - 1];
  const uint64_t count = buffer.element_count() / dim;
  if (dim > UINT32_MAX || count > UINT32_MAX) {
    return Error(ErrorCode::kOutOfRange,
                 str(op, ": ", name, " has ", count, " rows of ", dim,
                     " elements, expected at most ", UINT32_MAX, " of each"));
  }
  return Rows{static_cast<uint32_t>(count), static_cast<uint32_t>(dim)};
}

Status dispatch_rows(ComputeEncoder& encoder, const Rows& rows, Dispatch dispatch) {
  // A processor runs the simdgroups of a threadgroup one after the other: one is enough.
  const uint32_t wanted = encoder.device().limits().is_processor ? 32 : 256;
  const uint32_t most = std::bit_floor(std::min(wanted, dispatch.pipeline.max_threads()));
  const uint32_t threads = rows.dim >= most ? most : std::bit_ceil(rows.dim);
  const ThreadgroupMemory scratch = {0, threads * sizeof(float)};
  dispatch.grid = {rows.count, 1, 1};
  dispatch.threadgroup = {threads, 1, 1};
  dispatch.kind = DispatchKind::kThreadgroups;
  dispatch.threadgroup_memory = {&scratch, 1};
  dispatch.declared = true;
  return encoder.dispatch(dispatch);
}

}  // namespace mlxn
