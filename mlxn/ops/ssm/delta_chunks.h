#pragma once

#include "mlxn/ops/ssm/delta_net.h"

namespace mlxn {

// What the stages of delta_chunks hand on, all f32 and padded to whole chunks of `size` tokens:
// padded tokens change nothing. Columns are value_dim, padded to a multiple of 32. One is enough
// for all layers, one after the other.
struct DeltaChunkScratch {
  uint32_t size = 0;  // 16, 32 or 64
  Buffer lengths;     // [2, sequences, tokens, key_heads]: factors of queries and of keys
  Buffer decays;      // [sequences, chunks * size, heads]: logarithms, summed up within a chunk
  Buffer inverses;    // [sequences, chunks, heads, size, size]: (1 + A)^-1
  Buffer products;    // [sequences, chunks, heads, size, size]: of queries and keys, with decay
  Buffer w;           // [sequences, chunks, heads, size, key_dim]
  Buffer u;           // [sequences, chunks, heads, size, columns]: then changes of the values
  Buffer states;      // [sequences, chunks, heads, key_dim, columns]: before each chunk

  // For calls of these shapes; contents do not matter. kInvalidArgument for another chunk size.
  static Result<DeltaChunkScratch> create(const Device& device, const DeltaNetParams& params,
                                          uint32_t size);
};

struct DeltaChunksParams {
  DeltaNetParams net;   // any number of tokens; key_dim a multiple of 16
  uint32_t chunk = 64;  // 16, 32 or 64 tokens
  // Made by the op where it is left out.
  const DeltaChunkScratch* scratch = nullptr;
};

// delta_net for long prompts: within a chunk all tokens at once, by products of matrices and the
// inverse of a triangular one. Exactly the same in exact arithmetic; the order of sums is another.
// Several dispatches with barriers between them. Errors as of delta_net.
Status delta_chunks(ComputeEncoder& encoder, const DeltaChunksParams& params);

// The stages, in the order in which delta_chunks runs them.
enum class DeltaStage {
  kLengths,   // lengths, of queries and keys
  kDecays,    // decays, of gate
  kProducts,  // inverses (A itself) and products, of queries, keys, beta, lengths and decays:
              // A[i, j] = beta_i (k_i k_j) decay(j to i) for j < i, P[i, j] = (q_i k_j) decay(j to
              // i) for j <= i, else 0
  kInverses,  // inverses = (1 + A)^-1 in place, of A's strictly lower part
  kUpdates,   // u = inverse (beta v) and w = inverse (beta decay(to i) k)
  kStates,    // states, u = u - w S, and the new state
  kOutput,    // output = decay(to i) q_i S + P u
};

// A stage alone. Its inputs are what the stages before leave in the scratch.
Status delta_stage(ComputeEncoder& encoder, DeltaStage stage, const DeltaNetParams& params,
                   const DeltaChunkScratch& scratch);

}  // namespace mlxn
