#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

// A table of MLX's affine formats. A row is a string of bits, the lowest of a byte first: code i at
// bits i * bits; values are code * scale + bias of their group.
struct AffineEmbeddingParams {
  const Buffer& table;   // u8 [rows, dim * bits / 8] or the same bytes as u32 [rows, .. / 4]
  const Buffer& scales;  // f32, f16 or bf16 [rows, dim / group]
  const Buffer& biases;  // as the scales
  const Buffer& ids;     // u32 [tokens]
  const Buffer& output;  // f32 [tokens, dim]
  uint32_t bits = 4;     // 2, 3, 4, 5, 6 or 8
  uint32_t group = 64;   // 32, 64 or 128; divides dim
  float scale = 1;       // of the whole output, finite
};

// output[t] = (code * scales + biases) of row ids[t], times `scale`; zeros for an id past the
// table. kDtypeMismatch, kShapeMismatch, kOutOfRange, kInvalidArgument for wrong arguments.
Status affine_embedding(ComputeEncoder& encoder, const AffineEmbeddingParams& params);

}  // namespace mlxn
