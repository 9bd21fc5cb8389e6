#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct GroupNormParams {
  const Buffer& input;             // [batch, channels, ...], f32, f16 or bf16
  const Buffer& output;            // of the input's dtype and element count; may be the input
  uint32_t groups;                 // a divisor of the channels
  float eps = 1e-5f;               // not negative
  const Buffer* weight = nullptr;  // [channels], of the input's dtype, but f32 for f16
  const Buffer* bias = nullptr;    // likewise
};

// Channels in groups of neighbours: output = (x - mean) / sqrt(variance + eps) * weight + bias with
// mean and variance of all of a group, at most 2^24 elements. Computed in float, rounded once.
// kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status group_norm(ComputeEncoder& encoder, const GroupNormParams& params);

}  // namespace mlxn
