#include "mlxn/ops/kv/kv_range.h"

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"

namespace mlxn {

Result<KvRows> check_kv_range(std::string_view op, const KvRange& range, uint64_t tokens,
                              uint64_t capacity) {
  const uint64_t count = range.count != 0 ? range.count : saturating_sub(tokens, range.first_token);
  if (count == 0 || tokens > UINT32_MAX || !span_fits(range.first_token, count, tokens)) {
    return Error(ErrorCode::kOutOfRange,
                 str(op, ": ", count, " tokens from ", range.first_token, " on, expected some of ",
                     tokens, ", which are at most ", UINT32_MAX));
  }
  const bool fits = range.ring ? count <= capacity : span_fits(range.position, count, capacity);
  if (!fits || capacity > UINT32_MAX / 2) {
    return Error(
        ErrorCode::kOutOfRange,
        str(op, ": ", count, " tokens at position ", range.position, range.ring ? " of a ring" : "",
            ", expected room in ", capacity, " rows, which are at most ", UINT32_MAX / 2));
  }
  return KvRows{static_cast<uint32_t>(range.first_token), static_cast<uint32_t>(count),
                static_cast<uint32_t>(range.position % capacity), static_cast<uint32_t>(capacity)};
}

}  // namespace mlxn
