#include "mlxn/model/blocks/hyperparameters.h"

#include <algorithm>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"

namespace mlxn::model {
namespace {

constexpr uint64_t kMostLayers = 4096, kMostHeads = 65536, kMostWidth = 1 << 24;

Status read_heads(const PrefixedMetadata& metadata, Hyperparameters& p) {
  MLXN_ASSIGN(p.heads, metadata.size("attention.head_count", kMostHeads));
  MLXN_ASSIGN(p.kv_heads, metadata.size("attention.head_count_kv", kMostHeads, p.heads));
  const bool has_size = metadata.has("attention.key_length");
  if (p.heads % p.kv_heads != 0 || (p.hidden % p.heads != 0 && !has_size)) {
    return Error(ErrorCode::kCorruptData,
                 str(p.heads, " heads for ", p.kv_heads, " key heads and a width of ", p.hidden,
                     ", expected whole multiples"));
  }
  const uint64_t usual = std::max(1u, p.hidden / p.heads);
  MLXN_ASSIGN(p.head_dim, metadata.size("attention.key_length", kMostWidth, usual));
  MLXN_ASSIGN(const uint32_t value_dim,
              metadata.size("attention.value_length", kMostWidth, p.head_dim));
  if (value_dim != p.head_dim) {
    return Error(ErrorCode::kUnsupported, str("values of ", value_dim, " elements for keys of ",
                                              p.head_dim, ", expected as many"));
  }
  MLXN_ASSIGN(p.rotary_dims, metadata.size("rope.dimension_count", p.head_dim, p.head_dim));
  if (p.rotary_dims % 2 != 0) {
    return Error(ErrorCode::kCorruptData, str(p.rotary_dims,
                                              " elements of a head turn with their "
                                              "position, expected an even number"));
  }
  MLXN_ASSIGN(const uint64_t window, metadata.count("attention.sliding_window", 0));
  MLXN_ASSIGN(p.window, checked_cast<uint32_t>(window));
  return {};
}

Status read_rope(const PrefixedMetadata& metadata, Hyperparameters& p) {
  MLXN_ASSIGN(const double base, metadata.number("rope.freq_base", 10000.0));
  MLXN_ASSIGN(const std::string scaling, metadata.text("rope.scaling.type", "none"));
  MLXN_ASSIGN(const double factor, metadata.number("rope.scaling.factor", 1.0));
  p.rope_base = static_cast<float>(base);
  if (scaling == "linear" && factor > 0) p.rope_scale = static_cast<float>(1.0 / factor);
  if (scaling == "linear" || scaling == "none") return {};
  return Error(ErrorCode::kUnsupported,
               str("position scaling '", scaling, "', expected none or linear"));
}

}  // namespace

std::string PrefixedMetadata::key(std::string_view name) const {
  return str(prefix_, ".", name);
}

Result<uint64_t> PrefixedMetadata::count(std::string_view name,
                                         std::optional<uint64_t> fallback) const {
  return fallback ? metadata_.unsigned_integer(key(name), *fallback)
                  : metadata_.unsigned_integer(key(name));
}

Result<uint32_t> PrefixedMetadata::size(std::string_view name, uint64_t most,
                                        std::optional<uint64_t> fallback) const {
  MLXN_ASSIGN(const uint64_t value, count(name, fallback));
  if (value == 0 || value > most) {
    return Error(ErrorCode::kCorruptData,
                 str("metadata '", key(name), "' is ", value, ", expected 1 to ", most));
  }
  return static_cast<uint32_t>(value);
}

Result<double> PrefixedMetadata::number(std::string_view name,
                                        std::optional<double> fallback) const {
  return fallback ? metadata_.number(key(name), *fallback) : metadata_.number(key(name));
}

Result<std::string> PrefixedMetadata::text(std::string_view name, std::string_view fallback) const {
  return metadata_.text(key(name), fallback);
}

Result<Hyperparameters> read_hyperparameters(const PrefixedMetadata& metadata) {
  Hyperparameters p;
  MLXN_ASSIGN(p.layers, metadata.size("block_count", kMostLayers));
  MLXN_ASSIGN(p.hidden, metadata.size("embedding_length", kMostWidth));
  MLXN_ASSIGN(p.feed_forward, metadata.size("feed_forward_length", kMostWidth));
  MLXN_ASSIGN(p.context, metadata.count("context_length"));
  MLXN_TRY(read_heads(metadata, p));
  MLXN_TRY(read_rope(metadata, p));
  MLXN_ASSIGN(const double epsilon, metadata.number("attention.layer_norm_rms_epsilon"));
  p.epsilon = static_cast<float>(epsilon);
  MLXN_ASSIGN(const uint64_t experts, metadata.count("expert_count", 0));
  if (experts != 0)
    return Error(ErrorCode::kUnsupported, str("a mixture of ", experts, " experts, expected none"));
  // A file may come without a tokenizer: then it says how many tokens there are.
  std::optional<uint64_t> tokens;
  if (!metadata.has("vocab_size")) {
    MLXN_ASSIGN(const auto texts, metadata.all().texts("tokenizer.ggml.tokens"));
    tokens = texts.size();
  }
  MLXN_ASSIGN(p.vocabulary, metadata.size("vocab_size", kMostWidth, tokens));
  return p;
}

}  // namespace mlxn::model
