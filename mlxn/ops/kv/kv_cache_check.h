// What ops on a KV cache check alike.
#pragma once

#include "mlxn/core/memory/buffer.h"

namespace mlxn {

struct KvCacheSizes {
  uint32_t sequences, heads, capacity, dim;
};

// The sizes of a pair of caches, f32, f16 or q8_0 and alike. kDtypeMismatch, kShapeMismatch,
// kInvalidArgument for wrong ones.
Result<KvCacheSizes> check_kv_cache(std::string_view op, const Buffer& keys, const Buffer& values);

}  // namespace mlxn
