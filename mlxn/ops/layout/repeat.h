#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct RepeatParams {
  const Buffer& input;
  const Buffer& output;  // the input's shape, a multiple of it along `axis`
  uint32_t axis = 0;
  // false: the whole axis again and again, i of the output is i mod size of the input. true: each
  // element several times in a row, i is i / times.
  bool interleaved = false;
};

// output = the input repeated along an axis, as heads of keys for groups of heads. Bit for bit, or
// rounded once to another float type. Errors as of copy.
Status repeat(ComputeEncoder& encoder, const RepeatParams& params);

struct PadParams {
  const Buffer& input;            // up to four dimensions
  const Buffer& output;           // of the input's dtype; each dimension at least begin + size
  ArrayRef<uint64_t> begin = {};  // where the input goes, in each dimension; none: at 0
  float value = 0;                // of all other elements
};

// output = the input with `value` around it. f32, f16, bf16 (the value rounded once) or integers of
// up to 4 bytes (where the value is cut to a whole number). Errors as of copy.
Status pad(ComputeEncoder& encoder, const PadParams& params);

}  // namespace mlxn
