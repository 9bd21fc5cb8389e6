#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "mlxn/base/result.h"

namespace mlxn {

// Element types. Block-quantised formats pack block_elements values into block_bytes bytes.
enum class Dtype : uint8_t {
  kF32,
  kF16,
  kBf16,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kBool,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ8_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kQ8_K,
  kIq4_Nl,
  kIq4_Xs,
  kMxfp4,
  kCount,
};

struct DtypeInfo {
  Dtype dtype;
  std::string_view name;    // the one spelling used everywhere: "f32", "q4_0"
  uint32_t block_elements;  // 1 for plain types
  uint32_t block_bytes;
  bool is_float;  // plain floating point
};

std::span<const DtypeInfo> dtypes();
const DtypeInfo& info(Dtype dtype);
std::string_view to_string(Dtype dtype);
inline bool is_quantized(Dtype dtype) {
  return info(dtype).block_elements > 1;
}

// kInvalidArgument for an unknown name.
Result<Dtype> parse_dtype(std::string_view name);

// Bytes of `elements` values. Fails when a block format's count is not a whole number of blocks and
// on overflow.
Result<uint64_t> size_bytes(Dtype dtype, uint64_t elements);

}  // namespace mlxn
