#include "mlxn/ops/layout/permute.h"

#include <numeric>
#include <vector>

#include "mlxn/base/strings.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/layout/copy.h"

namespace mlxn {
namespace {

Status check_axes(std::string_view op, const Buffer& input, ArrayRef<uint32_t> axes) {
  const size_t count = input.shape().size();
  bool used[4] = {};
  bool valid = count <= 4 && axes.size() == count;
  for (size_t i = 0; valid && i < count; ++i) {
    valid = axes[i] < count && !used[axes[i]];
    if (valid) used[axes[i]] = true;
  }
  if (valid) return {};
  std::string list;
  for (uint32_t axis : axes) list += str(list.empty() ? "" : ", ", axis);
  return Error(ErrorCode::kInvalidArgument,
               str(op, ": axes [", list, "] for shape ", input.shape().to_string(),
                   ", expected each of at most four axes once"));
}

Status permute_as(std::string_view op, ComputeEncoder& encoder, const PermuteParams& params) {
  const auto& [input, output, axes] = params;
  MLXN_TRY(check_present(op, "input", input));
  MLXN_TRY(check_axes(op, input, axes));
  const Shape& shape = input.shape();
  CopyParams moved = {.source = input, .destination = output};
  uint64_t strides[4] = {}, sizes[4] = {}, elements = 1;
  for (size_t i = shape.size(); i-- > 0; elements *= shape[i]) strides[i] = elements;
  elements = 1;
  for (size_t i = shape.size(); i-- > 0; elements *= sizes[i]) {
    const size_t at = 4 - shape.size() + i;
    sizes[i] = moved.sizes[at] = shape[axes[i]];
    moved.source_strides[at] = strides[axes[i]];
    moved.destination_strides[at] = elements;
  }
  const Shape expected{ArrayRef<uint64_t>(sizes, shape.size())};
  MLXN_TRY(check_argument(output, ExpectedShape{op, "output", output.dtype(), expected}));
  return copy_as(op, encoder, moved);
}

}  // namespace

Status permute(ComputeEncoder& encoder, const PermuteParams& params) {
  return permute_as("permute", encoder, params);
}

Status transpose(ComputeEncoder& encoder, const TransposeParams& params) {
  constexpr const char* kOp = "transpose";
  MLXN_TRY(check_present(kOp, "input", params.input));
  const size_t count = params.input.shape().size();
  if (count < 2 || count > 4) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": input has shape ", params.input.shape().to_string(),
                     ", expected two to four dimensions"));
  }
  std::vector<uint32_t> axes(count);
  std::iota(axes.begin(), axes.end(), 0u);
  std::swap(axes[count - 2], axes[count - 1]);
  return permute_as(kOp, encoder, {params.input, params.output, axes});
}

}  // namespace mlxn
