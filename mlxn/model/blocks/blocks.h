// Parts that many architectures are made of. Each encodes into a pass and orders nothing by itself:
// that follows from the accesses that ops declare.
#pragma once

#include <cstdint>
#include <string>

#include "mlxn/model/architecture.h"
#include "mlxn/model/blocks/hyperparameters.h"
#include "mlxn/ops/rope/rope.h"

namespace mlxn::model {

// output = weights * input, plus a bias where there is one.
struct Projection {
  WeightMatrix weights;  // [outputs, inputs]
  Buffer bias;           // f32 [outputs]; empty: none
};
// "<name>.weight", and "<name>.bias" when asked for.
Result<Projection> load_projection(Weights& weights, const std::string& name, uint64_t outputs,
                                   uint64_t inputs, bool bias = false);
// Rows that projections are made of: as they are, and rounded where packed weights ask for that.
struct ProjectionInput {
  Buffer rows;     // f32 [tokens, inputs]
  Buffer rounded;  // empty: not needed
};
// Of rows in whatever dimensions they are split into, for all these weights. `room` is
// BlockValues::rounded.
Result<ProjectionInput> projection_input(const ForwardPass& pass, const Buffer& rows,
                                         ArrayRef<const WeightMatrix*> weights, const Buffer& room);
// Of every token's row, whatever dimensions the results are split into.
Status project(const ForwardPass& pass, const Projection& projection, const ProjectionInput& input,
               const Buffer& output);

// How queries and keys turn with their position.
struct Rope {
  RopePairs pairs = RopePairs::kAdjacent;
  uint32_t dims = 0;
  float base = 0, scale = 1;
  Buffer factors;  // of the frequencies; empty: none
};
// The same for the tokens of a pass, once for all layers.
struct RopeTurns {
  RopePairs pairs = RopePairs::kAdjacent;
  Buffer table;  // of rope_table
};
Result<RopeTurns> rope_turns(const ForwardPass& pass, const Rope& rope);

// What one pass computes on the way; layers use the same memory one after the other.
struct BlockValues {
  Buffer x;       // [tokens, hidden]: what layers hand on
  Buffer normed;  // [tokens, hidden]
  Buffer query, key, value;
  Buffer gate, up, gated;  // [tokens, feed_forward]
  Buffer rounded;          // room for any of them after rounding
};
Result<BlockValues> block_values(const ForwardPass& pass, const Hyperparameters& p);

struct AttentionBlock {
  Buffer norm;
  Projection query, key, value, output;
  Buffer query_norm, key_norm;  // [head_dim], for every head; empty: none
};
struct AttentionParts {
  bool biases = false;      // of queries, keys and values
  bool head_norms = false;  // of queries and keys
};
Result<AttentionBlock> load_attention(Weights& weights, uint32_t layer, const Hyperparameters& p,
                                      const AttentionParts& parts);
// x += W_o attention(rope(q), rope(k), v) with q, k, v from norm(x). Keys and values join those of
// earlier tokens in a layer of a KvCache.
struct AttentionCache {
  const Buffer& keys;
  const Buffer& values;
};
Status attention_block(const ForwardPass& pass, const AttentionBlock& block,
                       const Hyperparameters& p, const RopeTurns& turns,
                       const AttentionCache& cache, const BlockValues& v);

struct FeedForwardBlock {
  Buffer norm;
  Projection gate, up, down;
};
Result<FeedForwardBlock> load_feed_forward(Weights& weights, uint32_t layer,
                                           const Hyperparameters& p);
// x += W_down (silu(W_gate n) * W_up n) with n = norm(x)
Status feed_forward_block(const ForwardPass& pass, const FeedForwardBlock& block,
                          const Hyperparameters& p, const BlockValues& v);

// Into and out of the layers.
struct VocabularyBlock {
  Buffer embedding, norm;
  WeightMatrix output;
};
// The output is the embedding unless the file has its own.
Result<VocabularyBlock> load_vocabulary(Weights& weights, const Hyperparameters& p);
Status embed_tokens(const ForwardPass& pass, const VocabularyBlock& block, const Buffer& x);
// Logits of the rows of x that the pass asks for; nothing when it asks for none.
Status encode_logits(const ForwardPass& pass, const VocabularyBlock& block,
                     const Hyperparameters& p, const Buffer& x);

}  // namespace mlxn::model
