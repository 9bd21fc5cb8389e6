// Qwen 3: queries and keys are normed, head by head.
#include "mlxn/model/blocks/decoder.h"

namespace mlxn::model {
namespace {

Result<std::unique_ptr<Architecture>> create(Weights& weights) {
  return create_decoder(
      weights, {.prefix = "qwen3", .pairs = RopePairs::kHalves, .attention = {.head_norms = true}});
}

}  // namespace

extern const ArchitectureEntry architecture_qwen3;
const ArchitectureEntry architecture_qwen3 = {"qwen3", create};

}  // namespace mlxn::model
