#pragma once

#include <cstdint>
#include <span>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct EmbeddingParams {
  const Buffer& table;   // [rows, dim] in a weight format: f32, f16, bf16 or blocks
  const Buffer& ids;     // u32 [tokens]
  const Buffer& output;  // f32 [tokens, dim]
  float scale = 1;       // finite
};

// output[t] = table[ids[t]] * scale as f32. The ids are read when the dispatch runs, so they may
// come from another dispatch: an id past the table gives a row of zeros and touches nothing else.
// Ids that the host knows are checked by check_ids first. kDtypeMismatch, kShapeMismatch,
// kOutOfRange and kInvalidArgument for wrong arguments.
Status embedding(ComputeEncoder& encoder, const EmbeddingParams& params);

// kOutOfRange for the first id that is not below `rows`.
Status check_ids(std::span<const uint32_t> ids, uint64_t rows);

}  // namespace mlxn
