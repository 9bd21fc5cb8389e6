#include "mlxn/model/blocks/kv_cache.h"

#include <memory>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/ops/kv/kv_write.h"

namespace mlxn::model {
namespace {

// Buffers of these shapes, side by side in as few allocations as possible: large ones lie in huge
// pages, and reading a long cache is bound by what a processor fetches ahead within a page.
Result<std::vector<Buffer>> allocate(const Device& device, Dtype dtype,
                                     const std::vector<Shape>& shapes) {
  const uint64_t most = device.limits().max_buffer_length;
  std::vector<uint64_t> lengths;
  for (const Shape& shape : shapes) {
    MLXN_ASSIGN(const uint64_t length, size_bytes(dtype, shape));
    lengths.push_back(length);
  }
  std::vector<Buffer> buffers;
  while (buffers.size() < shapes.size()) {
    const size_t first = buffers.size();
    size_t end = first;
    uint64_t length = 0;
    do length += lengths[end++];
    while (end < shapes.size() && lengths[end] <= most && length <= most - lengths[end]);
    MLXN_ASSIGN(const Buffer all, device.alloc(Dtype::kU8, {length}, StorageMode::kPrivate));
    for (uint64_t at = 0; buffers.size() < end; at += lengths[buffers.size() - 1]) {
      const size_t i = buffers.size();
      buffers.emplace_back(all.storage(), at, lengths[i], dtype, shapes[i]);
    }
  }
  return buffers;
}

}  // namespace

Result<std::unique_ptr<State>> KvCache::create(const Device& device,
                                               const std::vector<KvLayer>& layers,
                                               const StateOptions& options) {
  const Dtype dtype = options.cache;
  if (dtype != Dtype::kF16 && dtype != Dtype::kF32 && dtype != Dtype::kQ8_0) {
    return Error(ErrorCode::kDtypeMismatch,
                 str("a KV cache of ", to_string(dtype), ", expected f16, f32 or q8_0"));
  }
  MLXN_ASSIGN(const uint64_t capacity, checked_align_up<uint64_t>(options.context, kKvTile));
  uint64_t total = 0;
  std::vector<Shape> shapes;
  for (const KvLayer& layer : layers) {
    if (const uint32_t block = info(dtype).block_elements; layer.head_dim % block != 0) {
      return Error(ErrorCode::kUnsupported,
                   str("a KV cache of ", to_string(dtype), " for heads of ", layer.head_dim,
                       " elements, expected a multiple of ", block));
    }
    const Shape shape = {options.sequences, layer.kv_heads, capacity, layer.head_dim};
    shapes.insert(shapes.end(), 2, shape);  // keys and values
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
  MLXN_ASSIGN(cache->buffers_, allocate(device, options.cache, shapes));
  return std::unique_ptr<State>(std::move(cache));
}

uint64_t KvCache::byte_len() const {
  uint64_t total = 0;
  for (const Buffer& buffer : buffers_) total += buffer.byte_len();
  return total;
}

}  // namespace mlxn::model
