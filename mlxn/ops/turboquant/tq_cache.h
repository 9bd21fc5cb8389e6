// A cache of rows in codes, as all tq ops take it: checks on the host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct TqCache {
  const Buffer& codes;  // u8 [heads, capacity, dim / 2] for 4 bits, else [heads, capacity, dim]
  const Buffer& norms;  // f32 [heads, capacity, 1]; for a dim of 512 [heads, capacity, 2]
  uint32_t bits;        // 4, 5, 6 or 8
  uint64_t dim;         // 64, 128, 256 or 512
};

// The capacity, for so many heads. `name` comes before those of the tensors: "key ".
Result<uint64_t> check_tq_cache(std::string_view op, std::string_view name, const TqCache& cache,
                                uint64_t heads);

// 1 for numbers that are too small to divide by. kInvalidArgument unless finite.
Result<float> tq_scale_factor(std::string_view op, float scale_factor);

}  // namespace mlxn
