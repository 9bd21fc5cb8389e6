// kv_copy_{f32,f16,bf16}_{f32,f16,bf16}: copies keys and values of tokens, of the first type, into
// a cache of the second. Buffers: 0 keys and 1 values [tokens, heads, dim], 2 cache of keys, 3
// cache of values, 4 KvCopyArgs. Grid: a thread for each element, (dim, heads, tokens times two):
// keys of a token, then its values; any threadgroup.
//
// kv_copy_{f32,f16,bf16}_q8_0: the same into blocks of 32 elements: a code is the element * 127 /
// largest magnitude, to nearest, away from zero where two are near. Grid: threadgroups of 32
// threads, (blocks, heads, tokens times two).
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/kv/kv_copy_args.h"
#include "mlxn/quant/blocks.h"

// Where a thread's row of elements lies: offsets of element 0.
struct CopiedRow {
  ulong from, to;
  uint dim;

  CopiedRow(constant KvCopyArgs& args, uint head, uint token, bool is_value) {
    const KvCopyPlace place = is_value ? args.value : args.key;
    const uint row = args.first_row + token;
    const uint wrapped = row < args.capacity ? row : row - args.capacity;
    dim = place.dim;
    from = (static_cast<ulong>(args.first_token + token) * args.heads + head) * dim;
    to = wrapped * place.token + head * place.head;
  }
};

template <typename From, typename To>
[[kernel]] void kv_copy(device const From* keys [[buffer(0)]],
                        device const From* values [[buffer(1)]], device To* key_cache [[buffer(2)]],
                        device To* value_cache [[buffer(3)]],
                        constant KvCopyArgs& args [[buffer(4)]],
                        uint3 position [[thread_position_in_grid]]) {
  const bool is_value = position.z % 2 != 0;
  const CopiedRow row(args, position.y, position.z / 2, is_value);
  device const From* from = (is_value ? values : keys) + row.from;
  device To* to = (is_value ? value_cache : key_cache) + row.to;
  if (position.x < row.dim) to[position.x] = static_cast<To>(static_cast<float>(from[position.x]));
}

template <typename From>
[[kernel, max_total_threads_per_threadgroup(32)]] void kv_copy_q8_0(
    device const From* keys [[buffer(0)]], device const From* values [[buffer(1)]],
    device mlxn::quant::BlockQ8_0* key_cache [[buffer(2)]],
    device mlxn::quant::BlockQ8_0* value_cache [[buffer(3)]],
    constant KvCopyArgs& args [[buffer(4)]], uint3 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  const bool is_value = group.z % 2 != 0;
  const CopiedRow row(args, group.y, group.z / 2, is_value);
  if (group.x * 32 >= row.dim) return;
  device const From* from = (is_value ? values : keys) + row.from + group.x * 32;
  device mlxn::quant::BlockQ8_0* block =
      (is_value ? value_cache : key_cache) + row.to / 32 + group.x;
  const float element = static_cast<float>(from[lane]);
  // As whole numbers magnitudes keep their order, with NaN at the top.
  const float largest = as_type<float>(simd_max(as_type<uint>(element) & 0x7fffffffu));
  const float inverse = largest == 0.0f ? 0.0f : 127.0f / largest;
  block->codes[lane] = static_cast<int8_t>(clamp(round(element * inverse), -127.0f, 127.0f));
  if (lane == 0) block->scale = as_type<ushort>(static_cast<half>(largest / 127.0f));
}

#define MLXN_ENTRY(format, type)                                  \
  MLXN_KERNEL("kv_copy_" #format "_f32", kv_copy, type, float);   \
  MLXN_KERNEL("kv_copy_" #format "_f16", kv_copy, type, half);    \
  MLXN_KERNEL("kv_copy_" #format "_bf16", kv_copy, type, bfloat); \
  MLXN_KERNEL("kv_copy_" #format "_q8_0", kv_copy_q8_0, type);
MLXN_ENTRY(f32, float)
MLXN_ENTRY(f16, half)
MLXN_ENTRY(bf16, bfloat)
