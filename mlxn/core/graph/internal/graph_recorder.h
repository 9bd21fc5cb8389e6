// Takes dispatches down for a graph that is being changed. Internal.
#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

// Captures from the start, and counts nothing: what it takes down was counted before.
class GraphRecorder : public ComputeEncoder {
 public:
  explicit GraphRecorder(const Device& device) : ComputeEncoder(device, Counting::kOff) {
    start_capture();
  }
};

}  // namespace mlxn
