// Qwen 2 and 2.5: queries, keys and values have biases.
#include "mlxn/model/blocks/decoder.h"

namespace mlxn::model {
namespace {

Result<std::unique_ptr<Architecture>> create(Weights& weights) {
  return create_decoder(
      weights, {.prefix = "qwen2", .pairs = RopePairs::kHalves, .attention = {.biases = true}});
}

}  // namespace

extern const ArchitectureEntry architecture_qwen2;
const ArchitectureEntry architecture_qwen2 = {"qwen2", create};

}  // namespace mlxn::model
