// Llama 2 and 3, SmolLM2, Mistral, and what else has their shape.
#include "mlxn/model/blocks/decoder.h"

namespace mlxn::model {
namespace {

Result<std::unique_ptr<Architecture>> create(Weights& weights) {
  return create_decoder(weights, {.prefix = "llama"});
}

}  // namespace

extern const ArchitectureEntry architecture_llama;
const ArchitectureEntry architecture_llama = {"llama", create};

}  // namespace mlxn::model
