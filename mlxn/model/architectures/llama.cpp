// Llama 2 and 3, SmolLM2, Mistral, and what else has their shape.
#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/model/architecture.h"
#include "mlxn/ops/activation/silu_mul.h"
#include "mlxn/ops/attention/attention.h"
#include "mlxn/ops/elementwise/elementwise.h"
#include "mlxn/ops/index/embedding.h"
#include "mlxn/ops/kv/kv_write.h"
#include "mlxn/ops/matmul/matmul.h"
#include "mlxn/ops/norm/rms_norm.h"
#include "mlxn/ops/rope/rope.h"

namespace mlxn::model {
namespace {

struct Hyperparameters {
  uint32_t layers = 0, hidden = 0, feed_forward = 0, vocabulary = 0;
  uint32_t heads = 0, kv_heads = 0, head_dim = 0, rotary_dims = 0;
  uint64_t context = 0;
  uint32_t window = 0;  // sliding; 0: none
  float epsilon = 0, rope_base = 0, rope_scale = 1;
};

// What one pass computes; every layer uses the same memory.
struct Values {
  Buffer x, normed, query, key, value, gate, up, chosen;
};

struct Layer {
  Buffer attention_norm, query, key, value, output;
  Buffer feed_forward_norm, gate, up, down;
};

Result<uint32_t> size_of(const io::Metadata& metadata, std::string_view name, uint64_t fallback,
                         uint64_t most) {
  MLXN_ASSIGN(const uint64_t value, fallback ? metadata.unsigned_integer(name, fallback)
                                             : metadata.unsigned_integer(name));
  if (value == 0 || value > most) {
    return Error(ErrorCode::kCorruptData,
                 str("metadata '", name, "' is ", value, ", expected 1 to ", most));
  }
  return static_cast<uint32_t>(value);
}

Result<Hyperparameters> read(const io::Metadata& metadata) {
  constexpr uint64_t kMost = 1 << 24;
  Hyperparameters p;
  MLXN_ASSIGN(p.layers, size_of(metadata, "llama.block_count", 0, 4096));
  MLXN_ASSIGN(p.hidden, size_of(metadata, "llama.embedding_length", 0, kMost));
  MLXN_ASSIGN(p.feed_forward, size_of(metadata, "llama.feed_forward_length", 0, kMost));
  MLXN_ASSIGN(p.heads, size_of(metadata, "llama.attention.head_count", 0, 65536));
  MLXN_ASSIGN(p.kv_heads, size_of(metadata, "llama.attention.head_count_kv", p.heads, 65536));
  MLXN_ASSIGN(p.context, metadata.unsigned_integer("llama.context_length"));
  if (p.heads % p.kv_heads != 0 ||
      (p.hidden % p.heads != 0 && !metadata.has("llama.attention.key_length"))) {
    return Error(ErrorCode::kCorruptData,
                 str(p.heads, " heads for ", p.kv_heads, " key heads and a width of ", p.hidden,
                     ", expected whole multiples"));
  }
  MLXN_ASSIGN(p.head_dim, size_of(metadata, "llama.attention.key_length",
                                  std::max(1u, p.hidden / p.heads), kMost));
  MLXN_ASSIGN(p.rotary_dims,
              size_of(metadata, "llama.rope.dimension_count", p.head_dim, p.head_dim));
  MLXN_ASSIGN(const uint64_t window,
              metadata.unsigned_integer("llama.attention.sliding_window", 0));
  MLXN_ASSIGN(p.window, checked_cast<uint32_t>(window));
  MLXN_ASSIGN(const double epsilon, metadata.number("llama.attention.layer_norm_rms_epsilon"));
  MLXN_ASSIGN(const double base, metadata.number("llama.rope.freq_base", 10000.0));
  MLXN_ASSIGN(const std::string scaling, metadata.text("llama.rope.scaling.type", "none"));
  MLXN_ASSIGN(const double factor, metadata.number("llama.rope.scaling.factor", 1.0));
  p.epsilon = static_cast<float>(epsilon);
  p.rope_base = static_cast<float>(base);
  if (scaling == "linear" && factor > 0) p.rope_scale = static_cast<float>(1.0 / factor);
  if (scaling != "linear" && scaling != "none")
    return Error(ErrorCode::kUnsupported,
                 str("position scaling '", scaling, "', expected none or linear"));
  MLXN_ASSIGN(const uint64_t experts, metadata.unsigned_integer("llama.expert_count", 0));
  if (experts != 0)
    return Error(ErrorCode::kUnsupported, str("a mixture of ", experts, " experts, expected none"));
  return p;
}

// output rows = weights * input rows, whatever dimensions the rows are split into.
Status project(const ForwardPass& pass, const Buffer& weights, const Buffer& input,
               const Buffer& output) {
  const uint64_t tokens = pass.tokens.element_count();
  MLXN_ASSIGN(const Buffer rows, input.reshape({tokens, weights.shape()[1]}));
  MLXN_ASSIGN(const Buffer results, output.reshape({tokens, weights.shape()[0]}));
  return matmul(pass.encoder, {.weights = weights, .input = rows, .output = results});
}

class Llama : public Architecture {
 public:
  static Result<std::unique_ptr<Architecture>> create(Weights& weights);

  const ModelShape& shape() const override { return shape_; }
  Status encode(const ForwardPass& pass) const override;

 private:
  Status load(Weights& weights);
  Result<Values> values(const ForwardPass& pass) const;
  Status encode_attention(const ForwardPass& pass, uint32_t layer, const Values& v) const;
  Status encode_feed_forward(const ForwardPass& pass, const Layer& layer, const Values& v) const;

  Hyperparameters p_;
  ModelShape shape_;
  Buffer embedding_, output_norm_, output_, rope_factors_;
  std::vector<Layer> layers_;
};

Result<std::unique_ptr<Architecture>> Llama::create(Weights& weights) {
  auto llama = std::make_unique<Llama>();
  MLXN_ASSIGN(llama->p_, read(weights.metadata()));
  MLXN_ASSIGN(const auto tokens, weights.metadata().texts("tokenizer.ggml.tokens"));
  MLXN_ASSIGN(llama->p_.vocabulary, size_of(weights.metadata(), "llama.vocab_size",
                                            std::max<uint64_t>(1, tokens.size()), 1u << 24));
  MLXN_TRY(llama->load(weights));
  const Hyperparameters& p = llama->p_;
  llama->shape_ = {p.layers, p.kv_heads, p.head_dim, p.vocabulary, p.context};
  return std::unique_ptr<Architecture>(std::move(llama));
}

Status Llama::load(Weights& weights) {
  const uint64_t hidden = p_.hidden, query = uint64_t{p_.heads} * p_.head_dim,
                 kv = uint64_t{p_.kv_heads} * p_.head_dim, ff = p_.feed_forward;
  MLXN_ASSIGN(embedding_, weights.tensor("token_embd.weight", {p_.vocabulary, hidden}));
  MLXN_ASSIGN(output_norm_, weights.tensor("output_norm.weight", {hidden}));
  output_ = embedding_;  // tied, unless the file has its own
  if (weights.has("output.weight")) {
    MLXN_ASSIGN(output_, weights.tensor("output.weight", {p_.vocabulary, hidden}));
  }
  if (weights.has("rope_freqs.weight")) {
    MLXN_ASSIGN(rope_factors_, weights.tensor("rope_freqs.weight", {p_.rotary_dims / 2}));
  }
  layers_.resize(p_.layers);
  for (uint32_t i = 0; i < p_.layers; ++i) {
    struct {
      Buffer& buffer;
      const char* name;
      Shape shape;
    } tensors[] = {
        {layers_[i].attention_norm, "attn_norm", {hidden}},
        {layers_[i].query, "attn_q", {query, hidden}},
        {layers_[i].key, "attn_k", {kv, hidden}},
        {layers_[i].value, "attn_v", {kv, hidden}},
        {layers_[i].output, "attn_output", {hidden, query}},
        {layers_[i].feed_forward_norm, "ffn_norm", {hidden}},
        {layers_[i].gate, "ffn_gate", {ff, hidden}},
        {layers_[i].up, "ffn_up", {ff, hidden}},
        {layers_[i].down, "ffn_down", {hidden, ff}},
    };
    for (auto& [buffer, name, shape] : tensors) {
      MLXN_ASSIGN(buffer, weights.tensor(str("blk.", i, ".", name, ".weight"), shape));
    }
  }
  return {};
}

Result<Values> Llama::values(const ForwardPass& pass) const {
  const uint64_t tokens = pass.tokens.element_count();
  Temporaries& get = pass.temporaries;
  Values v;
  get.begin();
  MLXN_ASSIGN(v.x, get.get({tokens, p_.hidden}));
  MLXN_ASSIGN(v.normed, get.get({tokens, p_.hidden}));
  MLXN_ASSIGN(v.query, get.get({tokens, p_.heads, p_.head_dim}));
  MLXN_ASSIGN(v.key, get.get({tokens, p_.kv_heads, p_.head_dim}));
  MLXN_ASSIGN(v.value, get.get({tokens, p_.kv_heads, p_.head_dim}));
  MLXN_ASSIGN(v.gate, get.get({tokens, p_.feed_forward}));
  MLXN_ASSIGN(v.up, get.get({tokens, p_.feed_forward}));
  if (const uint64_t outputs = pass.outputs.element_count(); outputs != 0) {
    MLXN_ASSIGN(v.chosen, get.get({outputs, p_.hidden}));
  }
  return v;
}

Status Llama::encode(const ForwardPass& pass) const {
  ComputeEncoder& encoder = pass.encoder;
  MLXN_ASSIGN(const Values v, values(pass));
  MLXN_TRY(embedding(encoder, {.table = embedding_, .ids = pass.tokens, .output = v.x}));
  for (uint32_t i = 0; i < p_.layers; ++i) {
    if (i > 0) MLXN_TRY(pass.between_layers());
    MLXN_TRY(encode_attention(pass, i, v));
    MLXN_TRY(encode_feed_forward(pass, layers_[i], v));
  }
  if (!v.chosen) return {};  // nobody asks for logits
  MLXN_TRY(embedding(encoder, {.table = v.x, .ids = pass.outputs, .output = v.chosen}));
  MLXN_TRY(rms_norm(encoder, {v.chosen, output_norm_, v.chosen, p_.epsilon}));
  return matmul(encoder, {output_, v.chosen, pass.logits});
}

// x += W_o attention(rope(W_q n), rope(W_k n), W_v n) with n = norm(x)
Status Llama::encode_attention(const ForwardPass& pass, uint32_t layer, const Values& v) const {
  ComputeEncoder& encoder = pass.encoder;
  const Layer& weights = layers_[layer];
  MLXN_TRY(rms_norm(encoder, {v.x, weights.attention_norm, v.normed, p_.epsilon}));
  MLXN_TRY(project(pass, weights.query, v.normed, v.query));
  MLXN_TRY(project(pass, weights.key, v.normed, v.key));
  MLXN_TRY(project(pass, weights.value, v.normed, v.value));
  for (const Buffer* turned : {&v.query, &v.key}) {
    MLXN_TRY(rope(encoder, {.input = *turned,
                            .positions = pass.positions,
                            .output = *turned,
                            .pairs = RopePairs::kAdjacent,
                            .rotary_dims = p_.rotary_dims,
                            .base = p_.rope_base,
                            .scale = p_.rope_scale,
                            .frequency_factors = rope_factors_ ? &rope_factors_ : nullptr}));
  }
  const Buffer &keys = pass.cache.keys(layer), &values = pass.cache.values(layer);
  MLXN_TRY(kv_write(encoder, {v.key, v.value, pass.positions, pass.sequences, keys, values}));
  MLXN_TRY(attention(encoder, {.queries = v.query,
                               .key_cache = keys,
                               .value_cache = values,
                               .positions = pass.positions,
                               .sequences = pass.sequences,
                               .output = v.query,
                               .window = p_.window}));
  MLXN_TRY(project(pass, weights.output, v.query, v.normed));
  return elementwise_add(encoder, {v.x, v.normed, v.x});
}

// x += W_down (silu(W_gate n) * W_up n) with n = norm(x)
Status Llama::encode_feed_forward(const ForwardPass& pass, const Layer& layer,
                                  const Values& v) const {
  ComputeEncoder& encoder = pass.encoder;
  MLXN_TRY(rms_norm(encoder, {v.x, layer.feed_forward_norm, v.normed, p_.epsilon}));
  MLXN_TRY(project(pass, layer.gate, v.normed, v.gate));
  MLXN_TRY(project(pass, layer.up, v.normed, v.up));
  MLXN_TRY(silu_mul(encoder, {v.gate, v.up, v.gate}));
  MLXN_TRY(project(pass, layer.down, v.gate, v.normed));
  return elementwise_add(encoder, {v.x, v.normed, v.x});
}

}  // namespace

extern const ArchitectureEntry architecture_llama;
const ArchitectureEntry architecture_llama = {"llama", Llama::create};

}  // namespace mlxn::model
