#include "mlxn/ops/layout/repeat.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/layout/copy.h"

namespace mlxn {

Status repeat(ComputeEncoder& encoder, const RepeatParams& params) {
  constexpr const char* kOp = "repeat";
  const auto& [input, output, axis, interleaved] = params;
  MLXN_TRY(check_present(kOp, "input", input));
  MLXN_TRY(check_present(kOp, "output", output));
  MLXN_ASSIGN(const AxisView view, axis_view(kOp, input, axis));
  std::vector<uint64_t> sizes(input.shape().begin(), input.shape().end());
  const uint64_t length = axis < output.shape().size() ? output.shape()[axis] : 0;
  if (length % view.size != 0) {
    return Error(
        ErrorCode::kShapeMismatch,
        str(kOp, ": output has ", length, " along the axis, expected a multiple of ", view.size));
  }
  sizes[axis] = length;
  MLXN_TRY(check_argument(output, ExpectedShape{kOp, "output", output.dtype(), Shape(sizes)}));
  const uint64_t times = length / view.size, inner = view.inner, own = view.size * inner;
  CopyParams moved = {.source = input,
                      .destination = output,
                      .sizes = {view.outer, times, view.size, inner},
                      .source_strides = {own, 0, inner, 1},
                      .destination_strides = {times * own, own, inner, 1}};
  if (interleaved) {
    moved.sizes = {view.outer, view.size, times, inner};
    moved.source_strides = {own, inner, 0, 1};
    moved.destination_strides = {times * own, times * inner, inner, 1};
  }
  return copy_as(kOp, encoder, moved);
}

}  // namespace mlxn
