#pragma once

#include <cstdint>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

// Weights as MLX stores them: codes of 2, 3, 4, 5, 6 or 8 bits in u32 words, from the lowest bit of
// each row's first word on without gaps; value = scale * code + bias. The scales and biases are of
// groups of `group_size` elements along k, a multiple of 32; the last group and the last word of a
// row may be short.
struct AffineMatmulParams {
  const Buffer& weights;  // u32 [n, k * bits / 32, rounded up]; with ids: [experts, n, ...]
  const Buffer&
      scales;  // f32, f16 or bf16 [n, k / group_size, rounded up]; with ids: [experts, ...]
  const Buffer& biases;  // as the scales
  const Buffer& input;   // f32, f16 or bf16 [m, k]; with ids as in matmul_id
  const Buffer& output;  // f32, f16 or bf16 [m, n]; with ids [tokens, slots, n]
  uint32_t bits = 4, group_size = 64;
  const Buffer* ids = nullptr;      // u32 [tokens, slots]: an expert for each
  const Buffer* up = nullptr;       // for experts, see matmul_id
  const Buffer* scratch = nullptr;  // for experts, see matmul_id
};

// output[m][n] = sum over k of input[m][k] * (scale * code + bias), unrounded inputs and weights,
// float products and sums, one rounding; with ids the weights are those of each row's expert, and
// one that is none gives zeros. A row has the same bits alone and among others. kDtypeMismatch,
// kShapeMismatch, kOutOfRange and kInvalidArgument for wrong arguments.
Status affine_matmul(ComputeEncoder& encoder, const AffineMatmulParams& params);

}  // namespace mlxn
