#pragma once

#include "mlxn/model/architecture.h"
#include "mlxn/model/blocks/blocks.h"

namespace mlxn::model {

// How one decoder differs from another.
struct DecoderTraits {
  std::string_view prefix;  // of its metadata
  RopePairs pairs = RopePairs::kAdjacent;
  AttentionParts attention = {};
};

// Llama's shape: layers of attention and a gated feed-forward part, norms in front of both, keys
// and values of all tokens.
Result<std::unique_ptr<Architecture>> create_decoder(Weights& weights, const DecoderTraits& traits);

}  // namespace mlxn::model
