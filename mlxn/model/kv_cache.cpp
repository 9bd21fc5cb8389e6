#include "mlxn/model/kv_cache.h"

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/ops/kv/kv_write.h"

namespace mlxn::model {

Result<KvCache> KvCache::create(const Device& device, const KvCacheShape& shape) {
  if (shape.dtype != Dtype::kF16 && shape.dtype != Dtype::kF32) {
    return Error(ErrorCode::kDtypeMismatch,
                 str("a KV cache of ", to_string(shape.dtype), ", expected f16 or f32"));
  }
  KvCache cache;
  cache.shape_ = shape;
  MLXN_ASSIGN(cache.shape_.capacity, checked_align_up<uint64_t>(shape.capacity, kKvTile));
  const Shape sizes{shape.sequences, shape.kv_heads, cache.shape_.capacity, shape.head_dim};
  MLXN_ASSIGN(const uint64_t elements, sizes.element_count());
  MLXN_ASSIGN(const uint64_t bytes, size_bytes(shape.dtype, elements));
  MLXN_ASSIGN(const uint64_t total, checked_mul<uint64_t>(bytes, 2 * uint64_t{shape.layers}));
  if (const uint64_t most = device.limits().recommended_working_set; total > most) {
    return Error(ErrorCode::kOutOfMemory,
                 str("a KV cache of ", total, " bytes for a context of ", shape.capacity,
                     " tokens, expected at most ", most, " bytes, the device's working set"));
  }
  for (auto* list : {&cache.keys_, &cache.values_}) {
    for (uint32_t layer = 0; layer < shape.layers; ++layer) {
      MLXN_ASSIGN(Buffer buffer, device.alloc(shape.dtype, sizes, StorageMode::kPrivate));
      list->push_back(std::move(buffer));
    }
  }
  return cache;
}

uint64_t KvCache::byte_len() const {
  uint64_t total = 0;
  for (const auto* list : {&keys_, &values_})
    for (const Buffer& buffer : *list) total += buffer.byte_len();
  return total;
}

}  // namespace mlxn::model
