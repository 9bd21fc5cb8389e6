#include "mlxn/ops/common/validate.h"

#include "mlxn/base/strings.h"

namespace mlxn {

Status check_present(std::string_view op, std::string_view name, const Buffer& buffer) {
  if (buffer && buffer.byte_len() > 0) return {};
  return Error(ErrorCode::kInvalidArgument, str(op, ": ", name, " is empty, expected a buffer"));
}

Result<std::string> float_kernel_name(std::string_view op, Dtype dtype) {
  if (info(dtype).is_float) return std::string(op).append("_").append(to_string(dtype));
  return Error(ErrorCode::kDtypeMismatch,
               str(op, ": dtype ", to_string(dtype), ", expected f32, f16 or bf16"));
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

}  // namespace mlxn
