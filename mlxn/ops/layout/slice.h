#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct SliceParams {
  const Buffer& input;
  const Buffer& output;  // the input's shape but for `axis`; a dtype that copy accepts
  uint32_t axis = 0;
  uint64_t start = 0;
};

// output = the input from `start` on along an axis, as long as the output is. Bit for bit, or
// rounded once to another float type. Errors as of copy.
Status slice(ComputeEncoder& encoder, const SliceParams& params);

struct ConcatParams {
  ArrayRef<const Buffer*> inputs;  // each of the output's shape but for `axis`
  const Buffer& output;
  uint32_t axis = 0;
  uint64_t start = 0;
};

// The inputs side by side along an axis of the output, from `start` on; the rest of the output
// stays. As slice, a dispatch for each input.
Status concat(ComputeEncoder& encoder, const ConcatParams& params);

struct QkvSplitParams {
  const Buffer& input;    // [tokens, queries + keys + values]
  const Buffer& queries;  // [tokens, queries], in any shape of as many elements
  const Buffer& keys;
  const Buffer& values;
};

// The three parts of each row as tensors of their own: three slices.
Status qkv_split(ComputeEncoder& encoder, const QkvSplitParams& params);

}  // namespace mlxn
