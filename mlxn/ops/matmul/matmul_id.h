#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct MatmulIdParams {
  const Buffer& weights;  // [experts, n, k] in a weight format: f32, f16, bf16 or blocks along k
  const Buffer& input;    // f32, f16 or bf16 [tokens, k], a row for all slots of a token, or
                          // [tokens, slots, k], a row for each
  const Buffer& ids;      // u32 [tokens, slots]: an expert for each
  const Buffer& output;   // f32, f16 or bf16 [tokens, slots, n]
  const Buffer* up = nullptr;       // as the input: then input and up become silu(input) * up first
  const Buffer* bias = nullptr;     // f32, f16 or bf16 [experts, n]
  const Buffer* scratch = nullptr;  // u32 [tokens, slots]: with it, weights of an expert that many
                                    // rows use are read once for several of them
};

// output[t][s][n] = sum over k of x[k] * weights[ids[t][s]][n][k] + bias[ids[t][s]][n], with x the
// row of the input, unrounded; float products and sums, one rounding. Any number of experts, of
// rows, and of slots with the same expert. The ids are read when the dispatch runs: one that is no
// expert gives a row of zeros. A row has the bits of batched_matmul with that expert alone, with
// and without scratch. kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for wrong
// arguments.
Status matmul_id(ComputeEncoder& encoder, const MatmulIdParams& params);

}  // namespace mlxn
