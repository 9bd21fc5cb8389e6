// Checks that ops share. Every message begins with the op and the argument.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mlxn/base/checked.h"
#include "mlxn/core/encode/encoder.h"

namespace mlxn {

// The name of a kernel: "rms_norm_f16". kDtypeMismatch unless the dtype is f32, f16 or bf16.
Result<std::string> float_kernel_name(std::string_view op, Dtype dtype);
// The same for kernels over weight formats: floats and the block formats of mlxn/quant.
Result<std::string> weight_kernel_name(std::string_view op, Dtype dtype);

// An argument of an op: what it must be.
struct Expected {
  std::string_view op, name;
  Dtype dtype;
  uint64_t elements;
};
Status check_argument(const Buffer& buffer, const Expected& expected);

// As above with the shape as well.
struct ExpectedShape {
  std::string_view op, name;
  Dtype dtype;
  Shape shape;
};
Status check_argument(const Buffer& buffer, const ExpectedShape& expected);

// A tensor of two dimensions. kShapeMismatch for another number of them.
struct Matrix {
  uint64_t rows;
  uint32_t columns;
};
Result<Matrix> matrix_of(std::string_view op, std::string_view name, const Buffer& buffer);

// kOutOfRange when a count of something does not fit into 32 bits.
Result<uint32_t> fits_32_bits(std::string_view op, std::string_view name, uint64_t count);

// An output may be the same memory as an input or have none in common with it.
Status check_overlap(std::string_view op, const Buffer& output, const Buffer& input,
                     std::string_view input_name);
// An output that has no memory in common with an input.
Status check_apart(std::string_view op, const Buffer& output, const Buffer& input,
                   std::string_view input_name);

// An argument that has memory at all.
Status check_present(std::string_view op, std::string_view name, const Buffer& buffer);

}  // namespace mlxn
