// Running a case on a device.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mlxn/core/device/device.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {

// The buffers of a case on one device. Each is a view inside a larger one, between zones of known
// bytes.
class CaseRun {
 public:
  // The same seed gives the same values on every device. Benchmarks leave the values out.
  static Result<CaseRun> create(const OpCase& op_case, const Device& device, uint64_t seed);

  // Encodes and runs the case once.
  Status run() const;

  // After run: the zones and the inputs are as they were, and the outputs as the reference says.
  // The error tells the tensor, the element, and both values.
  Status check() const;

  std::span<const Buffer> buffers() const { return buffers_; }

  // The bytes of all tensors, one after the other: equal runs give equal bytes.
  std::vector<std::byte> bytes() const;

 private:
  CaseRun(const OpCase& op_case, const Device& device) : case_(op_case), device_(device) {}
  Status add(const Tensor& tensor, Random& random);
  Status check_untouched(size_t i) const;
  Status check_values(size_t i, const std::vector<double>& expected) const;

  OpCase case_;
  Device device_;
  std::vector<Buffer> parents_, buffers_;
  std::vector<std::vector<std::byte>> before_;  // bytes of the parents
};

}  // namespace mlxn::cases
