#pragma once

#include <array>
#include <string_view>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

// Numbers for up to four dimensions, outermost first.
using CopyNumbers = std::array<uint64_t, 4>;

struct CopyParams {
  const Buffer& source;
  const Buffer& destination;  // of the same dtype, or both f32, f16 or bf16; another memory
  CopyNumbers sizes = {1, 1, 1, 1};
  CopyNumbers source_strides = {0, 0, 0, 0};  // in elements; 0 repeats
  CopyNumbers destination_strides = {0, 0, 0, 0};
  uint64_t source_offset = 0, destination_offset = 0;  // in elements
};

// destination[offset + sum of i * stride] = source[offset + sum of i * stride] for every index i
// below the sizes: what moving, reordering and repeating tensors comes down to. Bit for bit within
// a dtype (of 1, 2 or 4 bytes); between float types rounded once. Other elements of the destination
// stay. A size of 0 copies nothing. No two indices may mean the same element of the destination:
// each stride must be larger than all of the faster dimensions reach. kDtypeMismatch,
// kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status copy(ComputeEncoder& encoder, const CopyParams& params);

// Rows of one contiguous tensor with a part of another: [outer, size, inner] for any axis. For ops
// that name themselves in errors.
struct AxisView {
  uint64_t outer, size, inner;
};
Result<AxisView> axis_view(std::string_view op, const Buffer& tensor, uint32_t axis);
Status copy_as(std::string_view op, ComputeEncoder& encoder, const CopyParams& params);
// Without encoding: what copy_as would say.
Status check_copy(std::string_view op, const CopyParams& params);

}  // namespace mlxn
