#pragma once

#include <cstdint>
#include <vector>

#include "mlxn/core/device/device.h"

namespace mlxn::model {

struct KvCacheShape {
  uint32_t layers = 0, sequences = 1, kv_heads = 0, head_dim = 0;
  uint64_t capacity = 0;      // positions of each sequence; rounded up as the kernels need it
  Dtype dtype = Dtype::kF16;  // or f32
};

// Keys and values of all layers, laid out as ops/kv wants them.
class KvCache {
 public:
  // kOutOfMemory when it is larger than the device's working set: better told than found out.
  static Result<KvCache> create(const Device& device, const KvCacheShape& shape);

  const KvCacheShape& shape() const { return shape_; }
  const Buffer& keys(uint32_t layer) const { return keys_[layer]; }
  const Buffer& values(uint32_t layer) const { return values_[layer]; }
  uint64_t byte_len() const;

 private:
  KvCache() = default;
  KvCacheShape shape_;
  std::vector<Buffer> keys_, values_;
};

}  // namespace mlxn::model
