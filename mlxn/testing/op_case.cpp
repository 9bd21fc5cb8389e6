#include "mlxn/testing/op_case.h"

#include "mlxn/core/memory/shape.h"

namespace mlxn::cases {

Fill uniform(double low, double high) {
  return [=](Random& random, std::span<double> values) {
    std::uniform_real_distribution<double> distribution(low, high);
    for (double& value : values) value = distribution(random);
  };
}

Fill integers(uint64_t low, uint64_t high) {
  return [=](Random& random, std::span<double> values) {
    std::uniform_int_distribution<uint64_t> distribution(low, high);
    for (double& value : values) value = static_cast<double>(distribution(random));
  };
}

Fill exactly(std::vector<double> list) {
  return [list = std::move(list)](Random&, std::span<double> values) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = list[i % list.size()];
  };
}

Fill large_then_small(uint64_t count, double large, double small) {
  return [=](Random&, std::span<double> values) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = i < count ? large : small;
  };
}

uint64_t OpCase::bytes_moved() const {
  if (bytes > 0) return bytes;
  uint64_t total = 0;
  for (const Tensor& tensor : tensors) {
    const auto size = size_bytes(tensor.dtype, tensor.shape);
    if (size) total += *size * (tensor.role == Role::kInOut ? 2 : 1);
  }
  return total;
}

double precision(Dtype dtype) {
  return dtype == Dtype::kF16 ? 0x1p-10 : dtype == Dtype::kBf16 ? 0x1p-7 : 0x1p-23;
}

std::string text(Dtype dtype) {
  return std::string(to_string(dtype));
}

}  // namespace mlxn::cases
