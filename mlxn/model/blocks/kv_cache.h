#pragma once

#include <cstdint>
#include <vector>

#include "mlxn/core/device/device.h"
#include "mlxn/model/state.h"

namespace mlxn::model {

// Keys and values of one layer, or of several that share them.
struct KvLayer {
  uint32_t kv_heads = 0, head_dim = 0;
};

// Keys and values of all layers, laid out as ops/kv wants them. Sequences are cut by writing over
// what is behind their end.
class KvCache final : public State {
 public:
  // kOutOfMemory when it is larger than the device's working set: better told than found out.
  static Result<std::unique_ptr<State>> create(const Device& device,
                                               const std::vector<KvLayer>& layers,
                                               const StateOptions& options);

  const Buffer& keys(uint32_t layer) const { return buffers_[2 * layer]; }
  const Buffer& values(uint32_t layer) const { return buffers_[2 * layer + 1]; }
  uint64_t byte_len() const override;
  uint64_t truncate(uint32_t, uint64_t, uint64_t length) override { return length; }

 private:
  KvCache() = default;
  std::vector<Buffer> buffers_;  // keys and values of a layer after the other
};

}  // namespace mlxn::model
