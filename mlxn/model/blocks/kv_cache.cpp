#include "mlxn/model/blocks/kv_cache.h"

#include <memory>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/ops/kv/kv_write.h"

namespace mlxn::model {

Result<std::unique_ptr<State>> KvCache::create(const Device& device,
                                               const std::vector<KvLayer>& layers,
                                               const StateOptions& options) {
  if (options.cache != Dtype::kF16 && options.cache != Dtype::kF32) {
    return Error(ErrorCode::kDtypeMismatch,
                 str("a KV cache of ", to_string(options.cache), ", expected f16 or f32"));
  }
  MLXN_ASSIGN(const uint64_t capacity, checked_align_up<uint64_t>(options.context, kKvTile));
  uint64_t total = 0;
  std::vector<Shape> shapes;
  for (const KvLayer& layer : layers) {
    const Shape& shape =
        shapes.emplace_back(Shape{options.sequences, layer.kv_heads, capacity, layer.head_dim});
    MLXN_ASSIGN(const uint64_t bytes, size_bytes(options.cache, shape));
    MLXN_ASSIGN(const uint64_t both, checked_mul<uint64_t>(bytes, 2));
    MLXN_ASSIGN(total, checked_add<uint64_t>(total, both));
  }
  if (const uint64_t most = device.limits().recommended_working_set; total > most) {
    return Error(ErrorCode::kOutOfMemory,
                 str("a KV cache of ", total, " bytes for a context of ", options.context,
                     " tokens, expected at most ", most, " bytes, the device's working set"));
  }
  std::unique_ptr<KvCache> cache(new KvCache);
  for (auto* list : {&cache->keys_, &cache->values_}) {
    for (const Shape& shape : shapes) {
      MLXN_ASSIGN(Buffer buffer, device.alloc(options.cache, shape, StorageMode::kPrivate));
      list->push_back(std::move(buffer));
    }
  }
  return std::unique_ptr<State>(std::move(cache));
}

uint64_t KvCache::byte_len() const {
  uint64_t total = 0;
  for (const auto* list : {&keys_, &values_})
    for (const Buffer& buffer : *list) total += buffer.byte_len();
  return total;
}

}  // namespace mlxn::model
