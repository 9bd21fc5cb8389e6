#pragma once

#include <cstdint>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct AttentionMaskParams {
  const Buffer& mask;   // f32, f16, bf16 or bool [queries, keys]
  uint64_t offset = 0;  // position of the first query; key k stands at position k
  uint64_t window = 0;  // a query sees this many keys up to its own position; 0: all
  bool causal = true;   // a query sees no key behind its own position
};

// mask = 0 for a key that a query sees and -infinity for another, as bool true and false. A window
// alone hides no key behind the query. kDtypeMismatch, kShapeMismatch, kOutOfRange and
// kInvalidArgument for wrong arguments.
Status attention_mask(ComputeEncoder& encoder, const AttentionMaskParams& params);

}  // namespace mlxn
