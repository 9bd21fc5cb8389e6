// The header of one safetensors file, checked. Inside this folder only.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "mlxn/base/result.h"
#include "mlxn/io/safetensors.h"

namespace mlxn::io {

struct SafetensorsContents {
  std::map<std::string, std::string, std::less<>> metadata;
  std::vector<TensorInfo> tensors;  // sorted by offset
};

Result<SafetensorsContents> parse_safetensors(std::span<const std::byte> bytes,
                                              const SafetensorsLimits& limits);

// Depth of the JSON of headers and indices: an object of objects with lists.
inline constexpr int kSafetensorsDepth = 3;

}  // namespace mlxn::io
