// Calls that must be refused, made of a case by one change to one of its tensors: an empty buffer,
// another dtype, one element more or less in a dimension, memory shared in part with an output.
// What an op accepts all the same, its tensors say (Accepts).
#pragma once

#include <string>
#include <vector>

#include "mlxn/core/device/device.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {

class BrokenCall {
 public:
  std::string what;  // "tensor 1 as u8"
  const OpCase* from;

  // Zero-filled, with the change made.
  Result<std::vector<Buffer>> buffers(const Device& device) const;

 private:
  friend std::vector<BrokenCall> broken_calls(const OpCases& op);
  enum class Change { kEmpty, kDtype, kShape, kOverlap };

  BrokenCall(std::string what_is_wrong, const OpCase& op_case, Change change, size_t tensor)
      : what(std::move(what_is_wrong)), from(&op_case), change_(change), tensor_(tensor) {}

  Change change_;
  size_t tensor_;
  Tensor other_ = {};  // in place of the tensor
  size_t output_ = 0;  // that begins within the tensor
};

// Of the smallest test case of each variant. The cases must outlive the calls.
std::vector<BrokenCall> broken_calls(const OpCases& op);

}  // namespace mlxn::cases
