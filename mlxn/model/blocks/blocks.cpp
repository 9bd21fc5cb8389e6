#include "mlxn/model/blocks/blocks.h"

#include <algorithm>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/ops/activation/silu_mul.h"
#include "mlxn/ops/attention/attention.h"
#include "mlxn/ops/elementwise/add_row.h"
#include "mlxn/ops/elementwise/elementwise.h"
#include "mlxn/ops/index/embedding.h"
#include "mlxn/ops/kv/kv_write.h"
#include "mlxn/ops/matmul/matmul.h"
#include "mlxn/ops/matmul/packed_float_matmul.h"
#include "mlxn/ops/matmul/packed_matmul.h"
#include "mlxn/ops/matmul/quantise_rows.h"
#include "mlxn/ops/norm/rms_norm.h"

namespace mlxn::model {
namespace {

std::string layer_name(uint32_t layer, std::string_view name) {
  return str("blk.", layer, ".", name);
}

// Words that rows of the widest kind need after rounding.
Result<Buffer> rounding_room(const ForwardPass& pass, uint64_t tokens, const Hyperparameters& p) {
  const uint64_t widest = std::max({p.hidden, p.feed_forward, p.heads * p.head_dim});
  MLXN_ASSIGN(const uint64_t depth, checked_align_up<uint64_t>(widest, kRoundedBlock));
  MLXN_ASSIGN(const Shape shape, rounded_shape(tokens, depth));
  MLXN_ASSIGN(const uint64_t words, shape.element_count());
  return pass.scratch.alloc(Dtype::kI32, {words});
}

Status multiply(const ForwardPass& pass, const WeightMatrix& weights, const ProjectionInput& input,
                const Buffer& output) {
  if (weights.packed && weights.packed.is_float())
    return packed_float_matmul(pass.encoder, {weights.packed, input.rows, output});
  if (weights.packed) return packed_matmul(pass.encoder, {weights.packed, input.rounded, output});
  return matmul(pass.encoder, {weights.stored, input.rows, output});
}

bool takes_rounded(const WeightMatrix& matrix) {
  return matrix.packed && !matrix.packed.is_float();
}

}  // namespace

Result<Projection> load_projection(Weights& weights, const std::string& name, uint64_t outputs,
                                   uint64_t inputs, bool bias) {
  Projection projection;
  MLXN_ASSIGN(projection.weights, weights.matrix(name + ".weight", {outputs, inputs}));
  if (bias) {
    MLXN_ASSIGN(projection.bias, weights.tensor(name + ".bias", {outputs}));
  }
  return projection;
}

Result<ProjectionInput> projection_input(const ForwardPass& pass, const Buffer& rows,
                                         ArrayRef<const WeightMatrix*> weights,
                                         const Buffer& room) {
  const uint64_t tokens = rows.shape()[0], depth = rows.element_count() / tokens;
  ProjectionInput input;
  MLXN_ASSIGN(input.rows, rows.reshape({tokens, depth}));
  const auto rounds = [](const WeightMatrix* matrix) { return takes_rounded(*matrix); };
  if (std::ranges::none_of(weights, rounds)) return input;
  MLXN_ASSIGN(const Shape shape, rounded_shape(tokens, depth));
  MLXN_ASSIGN(const uint64_t words, shape.element_count());
  MLXN_ASSIGN(const Buffer part, room.slice_view(0, words));
  MLXN_ASSIGN(input.rounded, part.reshape(shape));
  MLXN_TRY(quantise_rows(pass.encoder, {.input = input.rows, .output = input.rounded}));
  return input;
}

Status project(const ForwardPass& pass, const Projection& projection, const ProjectionInput& input,
               const Buffer& output) {
  const uint64_t tokens = input.rows.shape()[0];
  MLXN_ASSIGN(const Buffer results, output.reshape({tokens, output.element_count() / tokens}));
  MLXN_TRY(multiply(pass, projection.weights, input, results));
  if (!projection.bias) return {};
  return add_row(pass.encoder, {.input = results, .row = projection.bias, .output = results});
}

Result<RopeTurns> rope_turns(const ForwardPass& pass, const Rope& rope) {
  RopeTurns turns = {rope.pairs, {}};
  MLXN_ASSIGN(turns.table, pass.temporary({pass.tokens.element_count(), rope.dims / 2, 2}));
  MLXN_TRY(rope_table(pass.encoder, {.positions = pass.positions,
                                     .output = turns.table,
                                     .base = rope.base,
                                     .scale = rope.scale,
                                     .frequency_factors = rope.factors ? &rope.factors : nullptr}));
  return turns;
}

Result<BlockValues> block_values(const ForwardPass& pass, const Hyperparameters& p) {
  const uint64_t tokens = pass.tokens.element_count();
  BlockValues v;
  MLXN_ASSIGN(v.x, pass.temporary({tokens, p.hidden}));
  MLXN_ASSIGN(v.normed, pass.temporary({tokens, p.hidden}));
  MLXN_ASSIGN(v.query, pass.temporary({tokens, p.heads, p.head_dim}));
  MLXN_ASSIGN(v.key, pass.temporary({tokens, p.kv_heads, p.head_dim}));
  MLXN_ASSIGN(v.value, pass.temporary({tokens, p.kv_heads, p.head_dim}));
  MLXN_ASSIGN(v.gate, pass.temporary({tokens, p.feed_forward}));
  MLXN_ASSIGN(v.up, pass.temporary({tokens, p.feed_forward}));
  MLXN_ASSIGN(v.gated, pass.temporary({tokens, p.feed_forward}));
  MLXN_ASSIGN(v.rounded, rounding_room(pass, tokens, p));
  return v;
}

Result<AttentionBlock> load_attention(Weights& weights, uint32_t layer, const Hyperparameters& p,
                                      const AttentionParts& parts) {
  const uint64_t hidden = p.hidden, query = uint64_t{p.heads} * p.head_dim,
                 kv = uint64_t{p.kv_heads} * p.head_dim;
  auto name = [&](std::string_view part) { return layer_name(layer, part); };
  AttentionBlock b;
  MLXN_ASSIGN(b.norm, weights.tensor(name("attn_norm.weight"), {hidden}));
  MLXN_ASSIGN(b.query, load_projection(weights, name("attn_q"), query, hidden, parts.biases));
  MLXN_ASSIGN(b.key, load_projection(weights, name("attn_k"), kv, hidden, parts.biases));
  MLXN_ASSIGN(b.value, load_projection(weights, name("attn_v"), kv, hidden, parts.biases));
  MLXN_ASSIGN(b.output, load_projection(weights, name("attn_output"), hidden, query));
  if (parts.head_norms) {
    MLXN_ASSIGN(b.query_norm, weights.tensor(name("attn_q_norm.weight"), {p.head_dim}));
    MLXN_ASSIGN(b.key_norm, weights.tensor(name("attn_k_norm.weight"), {p.head_dim}));
  }
  return b;
}

Status attention_block(const ForwardPass& pass, const AttentionBlock& block,
                       const Hyperparameters& p, const RopeTurns& turns,
                       const AttentionCache& cache, const BlockValues& v) {
  ComputeEncoder& encoder = pass.encoder;
  MLXN_TRY(rms_norm(encoder, {v.x, block.norm, v.normed, p.epsilon}));
  MLXN_ASSIGN(const ProjectionInput normed,
              projection_input(pass, v.normed,
                               {&block.query.weights, &block.key.weights, &block.value.weights},
                               v.rounded));
  MLXN_TRY(project(pass, block.query, normed, v.query));
  MLXN_TRY(project(pass, block.key, normed, v.key));
  MLXN_TRY(project(pass, block.value, normed, v.value));
  if (block.query_norm) {
    MLXN_TRY(rms_norm(encoder, {v.query, block.query_norm, v.query, p.epsilon}));
    MLXN_TRY(rms_norm(encoder, {v.key, block.key_norm, v.key, p.epsilon}));
  }
  for (const Buffer* heads : {&v.query, &v.key})
    MLXN_TRY(rope(encoder, {*heads, turns.table, *heads, turns.pairs}));
  MLXN_TRY(kv_write(encoder,
                    {v.key, v.value, pass.positions, pass.sequences, cache.keys, cache.values}));
  // Where activations are rounded to 8 bits, 16 are enough.
  const Dtype stored = cache.keys.dtype();
  const bool rounded =
      stored == Dtype::kQ8_0 || (stored == Dtype::kF16 && takes_rounded(block.output.weights));
  MLXN_TRY(attention(encoder, {.queries = v.query,
                               .key_cache = cache.keys,
                               .value_cache = cache.values,
                               .positions = pass.positions,
                               .sequences = pass.sequences,
                               .output = v.query,
                               .window = p.window,
                               .rounded = rounded}));
  MLXN_ASSIGN(const ProjectionInput attended,
              projection_input(pass, v.query, {&block.output.weights}, v.rounded));
  MLXN_TRY(project(pass, block.output, attended, v.normed));
  return elementwise_add(encoder, {v.x, v.normed, v.x});
}

Result<FeedForwardBlock> load_feed_forward(Weights& weights, uint32_t layer,
                                           const Hyperparameters& p) {
  auto name = [&](std::string_view part) { return layer_name(layer, part); };
  FeedForwardBlock b;
  MLXN_ASSIGN(b.norm, weights.tensor(name("ffn_norm.weight"), {p.hidden}));
  MLXN_ASSIGN(b.gate, load_projection(weights, name("ffn_gate"), p.feed_forward, p.hidden));
  MLXN_ASSIGN(b.up, load_projection(weights, name("ffn_up"), p.feed_forward, p.hidden));
  MLXN_ASSIGN(b.down, load_projection(weights, name("ffn_down"), p.hidden, p.feed_forward));
  return b;
}

Status feed_forward_block(const ForwardPass& pass, const FeedForwardBlock& block,
                          const Hyperparameters& p, const BlockValues& v) {
  ComputeEncoder& encoder = pass.encoder;
  MLXN_TRY(rms_norm(encoder, {v.x, block.norm, v.normed, p.epsilon}));
  MLXN_ASSIGN(
      const ProjectionInput normed,
      projection_input(pass, v.normed, {&block.gate.weights, &block.up.weights}, v.rounded));
  MLXN_TRY(project(pass, block.gate, normed, v.gate));
  MLXN_TRY(project(pass, block.up, normed, v.up));
  MLXN_TRY(silu_mul(encoder, {v.gate, v.up, v.gated}));
  MLXN_ASSIGN(const ProjectionInput gated,
              projection_input(pass, v.gated, {&block.down.weights}, v.rounded));
  MLXN_TRY(project(pass, block.down, gated, v.normed));
  return elementwise_add(encoder, {v.x, v.normed, v.x});
}

Result<VocabularyBlock> load_vocabulary(Weights& weights, const Hyperparameters& p) {
  VocabularyBlock b;
  MLXN_ASSIGN(b.embedding, weights.tensor("token_embd.weight", {p.vocabulary, p.hidden}));
  MLXN_ASSIGN(b.norm, weights.tensor("output_norm.weight", {p.hidden}));
  const char* output = weights.has("output.weight") ? "output.weight" : "token_embd.weight";
  MLXN_ASSIGN(b.output, weights.matrix(output, {p.vocabulary, p.hidden}));
  return b;
}

Status embed_tokens(const ForwardPass& pass, const VocabularyBlock& block, const Buffer& x) {
  return embedding(pass.encoder, {.table = block.embedding, .ids = pass.tokens, .output = x});
}

Status encode_logits(const ForwardPass& pass, const VocabularyBlock& block,
                     const Hyperparameters& p, const Buffer& x) {
  const uint64_t outputs = pass.outputs.element_count();
  if (outputs == 0) return {};
  MLXN_ASSIGN(const Buffer chosen, pass.temporary({outputs, p.hidden}));
  MLXN_TRY(embedding(pass.encoder, {.table = x, .ids = pass.outputs, .output = chosen}));
  MLXN_TRY(rms_norm(pass.encoder, {chosen, block.norm, chosen, p.epsilon}));
  MLXN_ASSIGN(const Buffer room, rounding_room(pass, outputs, p));
  MLXN_ASSIGN(const ProjectionInput input, projection_input(pass, chosen, {&block.output}, room));
  return multiply(pass, block.output, input, pass.logits);
}

}  // namespace mlxn::model
