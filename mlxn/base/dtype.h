#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "mlxn/base/result.h"
#include "mlxn/base/weight_formats.h"

namespace mlxn {

// Element types. Block-quantised formats pack block_elements values into block_bytes bytes.
enum class Dtype : uint8_t {
#define MLXN_ENUMERATOR(name, type, dtype, elements, bytes) k##dtype,
  MLXN_EACH_FLOAT_FORMAT(MLXN_ENUMERATOR)  // kF32, kF16, kBf16
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kBool,
  MLXN_EACH_BLOCK_FORMAT(MLXN_ENUMERATOR)  // kQ4_0, ..., kMxfp4
  kQ8_1,                                   // of activations
  kQ8_K,
  kCount,
#undef MLXN_ENUMERATOR
};

// What weights may be.
inline constexpr Dtype kWeightFormats[] = {
#define MLXN_DTYPE(name, type, dtype, elements, bytes) Dtype::k##dtype,
    MLXN_EACH_WEIGHT_FORMAT(MLXN_DTYPE)
#undef MLXN_DTYPE
};
bool is_weight_format(Dtype dtype);

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
