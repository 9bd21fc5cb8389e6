#include "mlxn/ops/layout/slice.h"

#include <vector>

#include "mlxn/base/strings.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/layout/copy.h"

namespace mlxn {
namespace {

// A part that has memory of its own and the whole that it belongs to.
struct Part {
  std::string_view name;
  const Buffer& part;
  const Buffer& whole;
  uint32_t axis;
  uint64_t start;
};

struct Views {
  AxisView part, whole;
};

Result<Views> views_of(std::string_view op, const Part& p) {
  MLXN_TRY(check_present(op, p.name, p.part));
  MLXN_ASSIGN(const AxisView whole, axis_view(op, p.whole, p.axis));
  std::vector<uint64_t> sizes(p.whole.shape().begin(), p.whole.shape().end());
  if (p.axis < p.part.shape().size()) sizes[p.axis] = p.part.shape()[p.axis];
  MLXN_TRY(check_argument(p.part, ExpectedShape{op, p.name, p.part.dtype(), Shape(sizes)}));
  const AxisView part = {whole.outer, sizes[p.axis], whole.inner};
  if (span_fits(p.start, part.size, whole.size)) return Views{part, whole};
  return Error(ErrorCode::kOutOfRange, str(op, ": ", p.name, " of ", part.size, " from ", p.start,
                                           " on, expected to end within ", whole.size));
}

CopyParams copy_of(const Buffer& from, const AxisView& source, const Buffer& to,
                   const AxisView& destination) {
  return {.source = from,
          .destination = to,
          .sizes = {1, source.outer, std::min(source.size, destination.size), source.inner},
          .source_strides = {0, source.size * source.inner, source.inner, 1},
          .destination_strides = {0, destination.size * destination.inner, destination.inner, 1}};
}

}  // namespace

Status slice(ComputeEncoder& encoder, const SliceParams& params) {
  constexpr const char* kOp = "slice";
  const auto& [input, output, axis, start] = params;
  MLXN_TRY(check_present(kOp, "input", input));
  MLXN_ASSIGN(const Views views, views_of(kOp, {"output", output, input, axis, start}));
  CopyParams moved = copy_of(input, views.whole, output, views.part);
  moved.source_offset = start * views.whole.inner;
  return copy_as(kOp, encoder, moved);
}

Status concat(ComputeEncoder& encoder, const ConcatParams& params) {
  constexpr const char* kOp = "concat";
  const auto& [inputs, output, axis, start] = params;
  MLXN_TRY(check_present(kOp, "output", output));
  std::vector<CopyParams> copies;
  uint64_t at = start;
  for (const Buffer* input : inputs) {
    MLXN_ASSIGN(const Views views, views_of(kOp, {"input", *input, output, axis, at}));
    CopyParams moved = copy_of(*input, views.part, output, views.whole);
    moved.destination_offset = at * views.whole.inner;
    MLXN_TRY(check_copy(kOp, moved));
    copies.push_back(moved);
    at += views.part.size;
  }
  for (const CopyParams& moved : copies) MLXN_TRY(copy_as(kOp, encoder, moved));
  return {};
}

Status qkv_split(ComputeEncoder& encoder, const QkvSplitParams& params) {
  constexpr const char* kOp = "qkv_split";
  MLXN_ASSIGN(const Matrix rows, matrix_of(kOp, "input", params.input));
  const std::pair<const char*, const Buffer&> parts[] = {
      {"queries", params.queries}, {"keys", params.keys}, {"values", params.values}};
  std::vector<CopyParams> copies;
  uint64_t column = 0;
  for (const auto& [name, part] : parts) {
    MLXN_TRY(check_present(kOp, name, part));
    const uint64_t width = part.element_count() / rows.rows;
    MLXN_TRY(check_argument(part, {kOp, name, params.input.dtype(), width * rows.rows}));
    CopyParams moved =
        copy_of(params.input, {rows.rows, rows.columns, 1}, part, {rows.rows, width, 1});
    moved.source_offset = column;
    column += width;
    copies.push_back(moved);
  }
  if (column != rows.columns) {
    return Error(ErrorCode::kShapeMismatch, str(kOp, ": rows of ", rows.columns,
                                                " elements, expected ", column, " of the parts"));
  }
  MLXN_TRY(check_apart(kOp, params.queries, params.keys, "keys"));
  MLXN_TRY(check_apart(kOp, params.queries, params.values, "values"));
  MLXN_TRY(check_apart(kOp, params.keys, params.values, "values"));
  for (const CopyParams& moved : copies) MLXN_TRY(check_copy(kOp, moved));
  for (const CopyParams& moved : copies) MLXN_TRY(copy_as(kOp, encoder, moved));
  return {};
}

}  // namespace mlxn
