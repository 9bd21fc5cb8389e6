// The contents of one GGUF file, checked. Inside this folder only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mlxn/base/result.h"
#include "mlxn/io/gguf.h"
#include "mlxn/io/metadata.h"

namespace mlxn::io {

struct GgufContents {
  uint32_t version = 0;
  Metadata metadata;
  std::vector<TensorInfo> tensors;
};

// All checks but those on duplicate tensor names, which cross files.
Result<GgufContents> parse_gguf(std::span<const std::byte> bytes, const GgufLimits& limits);

// GGUF's rule for names, which are used in messages and file systems: 1 to `limit` bytes, no NUL.
Status check_gguf_name(std::string_view name, uint64_t limit);

inline constexpr uint32_t kGgufMagic = 0x46554747;  // "GGUF"
inline constexpr uint64_t kGgufDefaultAlignment = 32;
inline constexpr uint32_t kGgufMaxDims = 4;

}  // namespace mlxn::io
