// Which tokens of a source go to which rows of a cache.
#pragma once

#include <cstdint>
#include <string_view>

#include "mlxn/base/result.h"

namespace mlxn {

struct KvRange {
  uint64_t position;     // of the first token
  uint64_t first_token;  // of the source
  uint64_t count;        // 0: all from the first on
  bool ring;             // position p lies in row p % capacity; else in row p
};
// What a kernel has to know: rows follow each other, behind the last one comes row 0.
struct KvRows {
  uint32_t first_token, count, first_row, capacity;
};

// kOutOfRange unless there are such tokens, there is room for them, and no two share a row.
Result<KvRows> check_kv_range(std::string_view op, const KvRange& range, uint64_t tokens,
                              uint64_t capacity);

}  // namespace mlxn
