// Numbers that architectures read from a file's metadata, under a prefix of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mlxn/io/metadata.h"

namespace mlxn::model {

// Reads "<prefix>.<name>". Errors name the whole key.
class PrefixedMetadata {
 public:
  PrefixedMetadata(const io::Metadata& metadata, std::string_view prefix)
      : metadata_(metadata), prefix_(prefix) {}

  const io::Metadata& all() const { return metadata_; }
  bool has(std::string_view name) const { return metadata_.has(key(name)); }
  // A size from 1 to `most`; without a fallback it must be there.
  Result<uint32_t> size(std::string_view name, uint64_t most,
                        std::optional<uint64_t> fallback = {}) const;
  Result<uint64_t> count(std::string_view name, std::optional<uint64_t> fallback = {}) const;
  Result<double> number(std::string_view name, std::optional<double> fallback = {}) const;
  Result<std::string> text(std::string_view name, std::string_view fallback) const;

 private:
  std::string key(std::string_view name) const;

  const io::Metadata& metadata_;
  std::string prefix_;
};

// Of a transformer whose layers are all alike.
struct Hyperparameters {
  uint32_t layers = 0, hidden = 0, feed_forward = 0, vocabulary = 0;
  uint32_t heads = 0, kv_heads = 0, head_dim = 0, rotary_dims = 0;
  uint64_t context = 0;
  uint32_t window = 0;  // sliding; 0: none
  float epsilon = 0, rope_base = 0, rope_scale = 1;
};
// kCorruptData for numbers that make no sense, kUnsupported for what no block can do.
Result<Hyperparameters> read_hyperparameters(const PrefixedMetadata& metadata);

}  // namespace mlxn::model
