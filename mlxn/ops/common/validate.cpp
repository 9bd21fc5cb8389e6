#include "mlxn/ops/common/validate.h"

#include <algorithm>

#include "mlxn/base/strings.h"

namespace mlxn {
namespace {

std::string kernel_name(std::string_view op, Dtype dtype) {
  return std::string(op).append("_").append(to_string(dtype));
}

}  // namespace

Status check_present(std::string_view op, std::string_view name, const Buffer& buffer) {
  if (buffer && buffer.byte_len() > 0) return {};
  return Error(ErrorCode::kInvalidArgument, str(op, ": ", name, " is empty, expected a buffer"));
}

Result<std::string> float_kernel_name(std::string_view op, Dtype dtype) {
  if (info(dtype).is_float) return kernel_name(op, dtype);
  return Error(ErrorCode::kDtypeMismatch,
               str(op, ": dtype ", to_string(dtype), ", expected f32, f16 or bf16"));
}

Result<std::string> weight_kernel_name(std::string_view op, Dtype dtype) {
  if (is_weight_format(dtype)) return kernel_name(op, dtype);
  return Error(ErrorCode::kDtypeMismatch,
               str(op, ": weights of ", to_string(dtype), ", expected a float or block format"));
}

Status check_argument(const Buffer& buffer, const Expected& expected) {
  MLXN_TRY(check_present(expected.op, expected.name, buffer));
  if (buffer.dtype() != expected.dtype) {
    return Error(ErrorCode::kDtypeMismatch,
                 str(expected.op, ": ", expected.name, " is ", to_string(buffer.dtype()),
                     ", expected ", to_string(expected.dtype)));
  }
  if (buffer.element_count() != expected.elements) {
    return Error(
        ErrorCode::kShapeMismatch,
        str(expected.op, ": ", expected.name, " has ", buffer.element_count(), " elements, shape ",
            buffer.shape().to_string(), ", expected ", expected.elements));
  }
  return {};
}

Status check_argument(const Buffer& buffer, const ExpectedShape& expected) {
  MLXN_ASSIGN(const uint64_t elements, expected.shape.element_count());
  MLXN_TRY(check_argument(buffer, {expected.op, expected.name, expected.dtype, elements}));
  if (buffer.shape() == expected.shape) return {};
  return Error(ErrorCode::kShapeMismatch,
               str(expected.op, ": ", expected.name, " has shape ", buffer.shape().to_string(),
                   ", expected ", expected.shape.to_string()));
}

Result<Matrix> matrix_of(std::string_view op, std::string_view name, const Buffer& buffer) {
  MLXN_TRY(check_present(op, name, buffer));
  const Shape& shape = buffer.shape();
  if (shape.size() != 2) {
    return Error(ErrorCode::kShapeMismatch, str(op, ": ", name, " has shape ", shape.to_string(),
                                                ", expected two dimensions"));
  }
  MLXN_ASSIGN(const uint32_t columns, fits_32_bits(op, name, shape[1]));
  const uint32_t block = info(buffer.dtype()).block_elements;
  if (columns % block != 0) {
    return Error(ErrorCode::kShapeMismatch, str(op, ": ", name, " has rows of ", columns,
                                                " elements, expected a multiple of ", block));
  }
  return Matrix{shape[0], columns};
}

Result<uint32_t> fits_32_bits(std::string_view op, std::string_view name, uint64_t count) {
  if (count <= UINT32_MAX) return static_cast<uint32_t>(count);
  return Error(ErrorCode::kOutOfRange,
               str(op, ": ", count, " ", name, ", expected at most ", UINT32_MAX));
}

Status check_overlap(std::string_view op, const Buffer& output, const Buffer& input,
                     std::string_view input_name) {
  const BufferRange out = BufferRange::from_buffer(output, MemRangeRole::kDst);
  const BufferRange in = BufferRange::from_buffer(input, MemRangeRole::kSrc);
  const bool same = out.begin == in.begin && out.end == in.end;
  if (same || !out.conflicts_with(in)) return {};
  return Error(ErrorCode::kInvalidArgument,
               str(op, ": output and ", input_name,
                   " share a part of their memory, expected all of it or none"));
}

Status check_apart(std::string_view op, const Buffer& output, const Buffer& input,
                   std::string_view input_name) {
  const BufferRange out = BufferRange::from_buffer(output, MemRangeRole::kDst);
  if (!out.conflicts_with(BufferRange::from_buffer(input, MemRangeRole::kSrc))) return {};
  return Error(ErrorCode::kInvalidArgument,
               str(op, ": output and ", input_name, " share memory, expected none in common"));
}

}  // namespace mlxn
