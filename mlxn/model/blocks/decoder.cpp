#include "mlxn/model/blocks/decoder.h"

#include "mlxn/model/blocks/kv_cache.h"

namespace mlxn::model {
namespace {

class Decoder final : public Architecture {
 public:
  Status load(Weights& weights, const DecoderTraits& traits);

  const ModelShape& shape() const override { return shape_; }
  Result<std::unique_ptr<State>> create_state(const Device& device,
                                              const StateOptions& options) const override {
    return KvCache::create(device, std::vector<KvLayer>(p_.layers, {p_.kv_heads, p_.head_dim}),
                           options);
  }
  Status encode(const ForwardPass& pass) const override;

 private:
  struct Layer {
    AttentionBlock attention;
    FeedForwardBlock feed_forward;
  };
  Hyperparameters p_;
  ModelShape shape_;
  Rope rope_;
  VocabularyBlock vocabulary_;
  std::vector<Layer> layers_;
};

Status Decoder::load(Weights& weights, const DecoderTraits& traits) {
  MLXN_ASSIGN(p_, read_hyperparameters({weights.metadata(), traits.prefix}));
  shape_ = {p_.layers, p_.vocabulary, p_.context};
  MLXN_ASSIGN(vocabulary_, load_vocabulary(weights, p_));
  rope_ = {traits.pairs, p_.rotary_dims, p_.rope_base, p_.rope_scale, {}};
  if (weights.has("rope_freqs.weight")) {
    MLXN_ASSIGN(rope_.factors, weights.tensor("rope_freqs.weight", {p_.rotary_dims / 2}));
  }
  for (uint32_t i = 0; i < p_.layers; ++i) {
    Layer& layer = layers_.emplace_back();
    MLXN_ASSIGN(layer.attention, load_attention(weights, i, p_, traits.attention));
    MLXN_ASSIGN(layer.feed_forward, load_feed_forward(weights, i, p_));
  }
  return {};
}

Status Decoder::encode(const ForwardPass& pass) const {
  const auto& cache = static_cast<const KvCache&>(pass.state);  // create_state made it
  MLXN_ASSIGN(const BlockValues v, block_values(pass, p_));
  MLXN_ASSIGN(const RopeTurns turns, rope_turns(pass, rope_));
  MLXN_TRY(embed_tokens(pass, vocabulary_, v.x));
  for (uint32_t i = 0; i < p_.layers; ++i) {
    MLXN_TRY(attention_block(pass, layers_[i].attention, p_, turns,
                             {cache.keys(i), cache.values(i)}, v));
    MLXN_TRY(feed_forward_block(pass, layers_[i].feed_forward, p_, v));
  }
  return encode_logits(pass, vocabulary_, p_, v.x);
}

}  // namespace

Result<std::unique_ptr<Architecture>> create_decoder(Weights& weights,
                                                     const DecoderTraits& traits) {
  auto decoder = std::make_unique<Decoder>();
  MLXN_TRY(decoder->load(weights, traits));
  return std::unique_ptr<Architecture>(std::move(decoder));
}

}  // namespace mlxn::model
